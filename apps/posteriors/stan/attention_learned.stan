// One attention head that learns where the last token looks, with linear values.
// The logit of token t is x_last^T W x_t / N_0. W has normal priors of deviation s_w, all other weights standard normal
// ones. Labels have normal noise of variance T.
functions {
  vector looks(vector weights, matrix tokens, int N_0) {  // softmax over the tokens of one example
    return softmax(tokens * weights / N_0);
  }
}
data {
  int<lower=1> P;       // examples
  int<lower=0> P_test;
  int<lower=1> S;       // tokens
  int<lower=1> N_0;     // numbers of a token
  int<lower=1> N;       // units of each layer
  real<lower=0> T;
  real<lower=0> s_w;
  vector[P] y;
  array[P] matrix[S, N_0] x;
  array[P_test] matrix[S, N_0] x_test;
}
parameters {
  matrix[N_0, N_0] z;   // W / s_w
  matrix[N, N_0] V_0;
  matrix[N, N] V_1;
  row_vector[N] a;
}
transformed parameters {
  row_vector[N] E = a * V_1 / sqrt(N);
  vector[N_0] slope = (E * V_0)' / sqrt(1.0 * N * N_0);
}
model {
  vector[P] f;
  for (m in 1:P) f[m] = dot_product(looks((x[m, S] * (s_w * z))', x[m], N_0), x[m] * slope);
  to_vector(z) ~ std_normal();
  to_vector(V_0) ~ std_normal();
  to_vector(V_1) ~ std_normal();
  a ~ std_normal();
  y ~ normal(f, sqrt(T));
}
generated quantities {
  matrix[1, 1] U_1;
  real U_a = dot_self(a) / N;
  matrix[P_test, S] attention_test;
  vector[P_test] f_test;
  U_1[1, 1] = dot_self(E) / N;
  for (m in 1:P_test) {
    attention_test[m] = looks((x_test[m, S] * (s_w * z))', x_test[m], N_0)';
    f_test[m] = attention_test[m] * (x_test[m] * slope);
  }
}
