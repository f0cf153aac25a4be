// Two layers of attention heads with linear values. Attention is given: xi[k] is what path k reads, with the heads
// (h_1, h_2) in the order (1,1), (1,2), ...
// Weights have standard normal priors, labels have normal noise of variance T.
data {
  int<lower=1> P;       // examples
  int<lower=0> P_test;
  int<lower=1> N_0;     // numbers of a token
  int<lower=1> N;       // units of each layer
  int<lower=1> H_1;     // heads
  int<lower=1> H_2;
  real<lower=0> T;
  vector[P] y;
  array[H_1 * H_2] matrix[P, N_0] xi;
  array[H_1 * H_2] matrix[P_test, N_0] xi_test;
}
parameters {
  matrix[N, N_0] V_0;
  array[H_1] matrix[N, N] V_1;
  array[H_2] matrix[N, N] V_2;
  row_vector[N] a;
}
transformed parameters {
  matrix[H_2, N] E_2;         // from the units below layer 2 to the output, for each head of layer 2
  matrix[H_1 * H_2, N] E_1;   // from the first units to the output, for each path
  for (g in 1:H_2) E_2[g] = a * V_2[g] / sqrt(N);
  for (h in 1:H_1) {
    for (g in 1:H_2) E_1[(h - 1) * H_2 + g] = E_2[g] * V_1[h] / sqrt(N);
  }
}
model {
  vector[P] f = rep_vector(0, P);
  for (k in 1:(H_1 * H_2)) f += xi[k] * (E_1[k] * V_0)' / sqrt(1.0 * N * H_1 * H_2 * N_0);
  to_vector(V_0) ~ std_normal();
  for (h in 1:H_1) to_vector(V_1[h]) ~ std_normal();
  for (g in 1:H_2) to_vector(V_2[g]) ~ std_normal();
  a ~ std_normal();
  y ~ normal(f, sqrt(T));
}
generated quantities {
  matrix[H_1 * H_2, H_1 * H_2] U_1 = E_1 * E_1' / N;
  matrix[H_2, H_2] U_2 = E_2 * E_2' / N;
  real U_a = dot_self(a) / N;
  vector[P_test] f_test = rep_vector(0, P_test);
  for (k in 1:(H_1 * H_2)) f_test += xi_test[k] * (E_1[k] * V_0)' / sqrt(1.0 * N * H_1 * H_2 * N_0);
}
