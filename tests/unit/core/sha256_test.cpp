#include "headway/core/sha256.hpp"

#include <string>

#include "catch.hpp"

using headway::Sha256;
using headway::sha256_hex;

// FIPS 180-4 example messages, as published with the standard (and by NIST's Secure Hashing
// examples).
TEST_CASE("SHA-256 gives the published digests") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_hex(std::string(1000000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("SHA-256 does not depend on how the message is cut") {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>((i * 7919) % 251);
  const std::string whole = sha256_hex(text);
  for (const std::size_t piece : {1U, 3U, 55U, 63U, 64U, 65U, 127U, 999U}) {
    Sha256 hash;
    for (std::size_t begin = 0; begin < text.size(); begin += piece) {
      hash.update(std::string_view(text).substr(begin, piece));
    }
    CHECK(hash.hex_digest() == whole);
  }
  text[500] ^= 1;
  CHECK(sha256_hex(text) != whole);
}
