#include "protocol/manifest.hpp"

#include "protocol/assert.hpp"
#include "protocol/json_codec.hpp"

#include <type_traits>

namespace baton::protocol {

namespace {

/// Calls visit(path, member) for each member that has no members of its own, depth first.
template <class S, class Visitor>
void for_each_leaf(S& s, const std::string& prefix, const Visitor& visit) {
  for_each_field(s, [&](const char* name, auto& member) {
    if constexpr (has_fields_v<std::decay_t<decltype(member)>>)
      for_each_leaf(member, prefix + name + ".", visit);
    else
      visit(prefix + name, member);
  });
}

/// A leaf as people write it: strings without quotes, ids in hexadecimal.
template <class T>
std::string text_of(const T& value) {
  const json form = to_json(value);
  return form.is_string() ? form.get<std::string>() : to_text(form);
}

void change(bool& value) { value = !value; }
void change(std::string& value) { value += "-falsified"; }
template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
void change(T& value) {
  value = static_cast<T>(value + 1);
}
template <class Tag>
void change(random_id<Tag>& value) {
  value.low ^= 1;
}
template <class Tag, class Rep>
void change(strong<Tag, Rep>& value) {
  change(value.value);
}

} // namespace

std::vector<manifest_difference> compare(const manifest& expected, const manifest& offered) {
  std::vector<manifest_difference> all;
  for_each_leaf(expected, "", [&](const std::string& path, const auto& value) {
    all.push_back({path, text_of(value), ""});
  });
  std::size_t next = 0;
  for_each_leaf(offered, "", [&](const std::string& path, const auto& value) {
    BATON_ASSERT(all[next].field_name == path);
    all[next++].offered = text_of(value);
  });
  std::vector<manifest_difference> different;
  for (manifest_difference& d : all)
    if (d.expected != d.offered)
      different.push_back(std::move(d));
  return different;
}

failure check_manifest(const manifest& expected, const manifest& offered) {
  std::string text;
  for (const manifest_difference& d : compare(expected, offered)) {
    text += text.empty() ? "manifest: " : "; ";
    text += d.field_name + ": expected " + d.expected + ", offered " + d.offered;
  }
  if (text.empty())
    return {};
  return {reason::manifest_mismatch, text};
}

bool falsify(manifest& m, const std::string& field_path) {
  bool found = false;
  for_each_leaf(m, "", [&](const std::string& path, auto& value) {
    if (path != field_path)
      return;
    change(value);
    found = true;
  });
  return found;
}

std::vector<std::string> manifest_field_paths() {
  std::vector<std::string> paths;
  const manifest any;
  for_each_leaf(any, "", [&](const std::string& path, const auto&) { paths.push_back(path); });
  return paths;
}

} // namespace baton::protocol
