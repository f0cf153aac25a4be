// One layer of attention heads with linear values. Attention is given: xi[h] is what head h reads.
// Weights have standard normal priors, labels have normal noise of variance T.
data {
  int<lower=1> P;       // examples
  int<lower=0> P_test;
  int<lower=1> N_0;     // numbers of a token
  int<lower=1> N;       // units of each layer
  int<lower=1> H;       // heads
  real<lower=0> T;
  vector[P] y;
  array[H] matrix[P, N_0] xi;
  array[H] matrix[P_test, N_0] xi_test;
}
parameters {
  matrix[N, N_0] V_0;
  array[H] matrix[N, N] V_1;
  row_vector[N] a;
}
transformed parameters {
  matrix[H, N] E;       // from the first units of each head to the output
  for (h in 1:H) E[h] = a * V_1[h] / sqrt(N);
}
model {
  vector[P] f = rep_vector(0, P);
  for (h in 1:H) f += xi[h] * (E[h] * V_0)' / sqrt(1.0 * N * H * N_0);
  to_vector(V_0) ~ std_normal();
  for (h in 1:H) to_vector(V_1[h]) ~ std_normal();
  a ~ std_normal();
  y ~ normal(f, sqrt(T));
}
generated quantities {
  matrix[H, H] U_1 = E * E' / N;
  real U_a = dot_self(a) / N;
  vector[P_test] f_test = rep_vector(0, P_test);
  for (h in 1:H) f_test += xi_test[h] * (E[h] * V_0)' / sqrt(1.0 * N * H * N_0);
}
