#pragma once

#include "headway/core/option_table.hpp"

// How an option reaches what its struct holds. Part of option_table.hpp, which includes it.
namespace headway {

template <class Owner>
template <class T>
Option<Owner>::Option(std::string_view key, T Owner::*member, const OptionType<T>& type,
                      std::string_view why) {
  name = key;
  allowed = type.allowed;
  help = why;
  read_ = [member, read = type.read](const OptionValue& value, const std::string& path,
                                     void* owner) {
    static_cast<Owner*>(owner)->*member = read(value, path);
  };
  write_ = [member, write = type.write](const void* owner) {
    return write(static_cast<const Owner*>(owner)->*member);
  };
  check_ = [member, check = type.check](const void* owner, const std::string& path) {
    check(static_cast<const Owner*>(owner)->*member, path);
  };
}

template <class Owner>
template <class T>
Option<Owner>::Option(std::string_view key, T (Owner::*get)() const, void (Owner::*set)(T),
                      const OptionType<T>& type, std::string_view why) {
  name = key;
  allowed = type.allowed;
  help = why;
  read_ = [set, read = type.read](const OptionValue& value, const std::string& path, void* owner) {
    (static_cast<Owner*>(owner)->*set)(read(value, path));
  };
  write_ = [get, write = type.write](const void* owner) {
    return write((static_cast<const Owner*>(owner)->*get)());
  };
  check_ = [get, check = type.check](const void* owner, const std::string& path) {
    check((static_cast<const Owner*>(owner)->*get)(), path);
  };
}

}  // namespace headway
