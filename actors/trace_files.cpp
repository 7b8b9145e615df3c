#include "actors/trace_files.hpp"

#include "protocol/trace_line.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace baton::actors {

namespace {

using namespace protocol;

/// More and it is not a trace.
constexpr std::size_t broken_lines_max = 100;

constexpr std::string_view suffix = ".trace.jsonl";

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

struct quick_key {
  trace_key key;
  std::string_view actor;
};

/// What stands between `name":"` and the next quote after `from`.
std::optional<std::string_view> text_after(std::string_view line, std::string_view name,
                                           std::size_t from) {
  const std::size_t at = line.find(name, from);
  if (at == std::string_view::npos)
    return {};
  const std::size_t begin = at + name.size();
  const std::size_t end = line.find('"', begin);
  if (end == std::string_view::npos || line.substr(begin, end - begin).find('\\') != line.npos)
    return {};
  return line.substr(begin, end - begin);
}

bool read_id(std::optional<std::string_view> text, std::uint64_t& id) {
  std::uint64_t none = 0;
  return text && text->size() == 16
         && from_hex(std::string(16, '0') + std::string(*text), none, id);
}

/// The key of a line as to_line writes it, without parsing its JSON; none when it looks different.
std::optional<quick_key> quick_key_of(std::string_view line) {
  if (line.substr(0, 7) != "{\"id\":\"" || line.back() != '}')
    return {};
  quick_key k;
  const auto sender = text_after(line, ",\"from\":\"", 0);
  const std::size_t tail = line.rfind(",\"begin_ns\":");
  if (!sender || tail == std::string_view::npos)
    return {};
  const auto after = static_cast<std::size_t>(sender->data() - line.data());
  const auto actor = text_after(line, ",\"actor\":\"", after);
  if (!actor || !read_id(text_after(line, "{\"id\":\"", 0), k.key.id)
      || !read_id(text_after(line, ",\"cause\":\"", 0), k.key.cause))
    return {};
  k.actor = *actor;
  const std::string number(line.substr(tail + 12, 20));
  char* end = nullptr;
  k.key.begin_ns = std::strtoll(number.c_str(), &end, 10);
  return *end == ',' ? std::optional(k) : std::nullopt;
}

failure cannot(const std::string& path, const char* what) {
  return {reason::bad_input, path + ": " + what + ": " + std::strerror(errno)};
}

outcome<std::vector<std::string>> trace_paths(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> paths;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error))
    if (ends_with(it->path().filename().string(), suffix))
      paths.push_back(it->path().string());
  if (error)
    return failure{reason::bad_input, directory + ": " + error.message()};
  if (paths.empty())
    return failure{reason::not_found, directory + ": no *" + std::string(suffix) + " in it"};
  std::sort(paths.begin(), paths.end());
  return paths;
}

} // namespace

outcome<std::unique_ptr<trace_files>> trace_files::open(const std::string& directory,
                                                        node_state nodes) {
  const auto paths = trace_paths(directory);
  if (!paths)
    return paths.error();
  std::unique_ptr<trace_files> files(new trace_files);
  for (const auto& path : paths.value()) {
    if (failure why = files->map(path))
      return why;
    if (failure why = files->index(static_cast<std::uint32_t>(files->files_.size() - 1), nodes))
      return why;
  }
  return files;
}

trace_files::~trace_files() {
  for (const mapping& m : files_)
    if (m.size > 0)
      ::munmap(const_cast<char*>(m.data), m.size);
}

failure trace_files::map(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // for a pipe's writer
  if (file < 0)
    return cannot(path, "cannot open");
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(file);
    return {reason::bad_input, path + ": is not a regular file"};
  }
  mapping m{std::filesystem::path(path).filename().string(), nullptr,
            static_cast<std::size_t>(status.st_size)};
  void* data = m.size == 0 ? nullptr : ::mmap(nullptr, m.size, PROT_READ, MAP_PRIVATE, file, 0);
  ::close(file);
  if (data == MAP_FAILED)
    return cannot(path, "cannot map");
  m.data = static_cast<const char*>(data);
  files_.push_back(std::move(m));
  return {};
}

failure trace_files::index(std::uint32_t file, node_state nodes) {
  const std::string_view all(files_[file].data, files_[file].size);
  const std::size_t first_section = sections_.size();
  for (std::size_t offset = 0; offset < all.size();) {
    const std::size_t end = all.find('\n', offset);
    if (end == std::string_view::npos) {
      torn_.push_back(where(file, offset) + ": the last line is torn: skipped");
      return {};
    }
    if (failure why = add_line(file, offset, all.substr(offset, end - offset)))
      return why;
    offset = end + 1;
  }
  if (sections_.size() > first_section && sections_.back().end == section_end::cut
      && nodes == node_state::idle_and_flushed
      && sections_.back().header.node.value != client_node) // another client may run, or was killed
    sections_.back().end = section_end::flushed;
  return {};
}

failure trace_files::add_line(std::uint32_t file, std::uint64_t offset, std::string_view text) {
  const bool has_section = !sections_.empty() && sections_.back().file == files_[file].name;
  const auto quick = text.empty() ? std::nullopt : quick_key_of(text);
  if (quick && has_section) {
    add_record(file, offset, text, quick->key, quick->actor);
    return {};
  }
  auto parsed = parse_line(std::string(text));
  if (!parsed) {
    if (!has_section || broken_.size() >= broken_lines_max)
      return {reason::bad_input, where(file, offset) + ": " + parsed.error().text};
    broken_.push_back(where(file, offset) + ": " + parsed.error().text);
    return {};
  }
  if (auto* header = std::get_if<trace_header>(&parsed.value())) {
    // The line before the header of a new life is the one that its killed predecessor tore.
    if (!broken_.empty() && has_section && offset > 0
        && broken_.back().rfind(where(file, offset - 1) + ":", 0) == 0) {
      torn_.push_back(broken_.back() + " (torn when its node was killed: skipped)");
      broken_.pop_back();
    }
    sections_.push_back({files_[file].name, std::move(*header), section_end::cut, 0, {}});
    actors_of_section_.clear();
    first_key_of_section_ = keys_.size();
    return {};
  }
  if (!has_section)
    return {reason::bad_input, where(file, offset) + ": expected a trace's header"};
  trace_section& section = sections_.back();
  if (const auto* loss = std::get_if<trace_loss>(&parsed.value())) {
    section.lost += loss->records;
    section.first_gap = section.first_gap.value_or(keys_.size());
  } else if (const auto* end = std::get_if<trace_end>(&parsed.value())) {
    section.end = section_end::closed;
    const std::uint64_t here = keys_.size() - first_key_of_section_;
    if (end->records != here)
      missing_.push_back(where(file, offset) + ": says " + std::to_string(end->records)
                         + " records, " + std::to_string(here) + " are here");
  } else {
    const auto& record = std::get<trace_record>(parsed.value());
    trace_key key{record.header.id, record.header.cause, record.begin_ns, 0, 0};
    add_record(file, offset, text, key, record.actor);
  }
  return {};
}

void trace_files::add_record(std::uint32_t file, std::uint64_t offset, std::string_view text,
                             trace_key key, std::string_view actor) {
  key.section = static_cast<std::uint32_t>(sections_.size() - 1);
  const auto [it, fresh] = actors_of_section_.try_emplace(std::string(actor), actors_);
  actors_ += fresh ? 1 : 0;
  key.actor = it->second;
  keys_.push_back(key);
  places_.push_back({offset, static_cast<std::uint32_t>(text.size()), file});
}

std::string trace_files::where(std::uint32_t file, std::uint64_t offset) const {
  const char* data = files_[file].data;
  return files_[file].name + ":" + std::to_string(1 + std::count(data, data + offset, '\n'));
}

std::string_view trace_files::line(std::size_t index) const {
  const place& p = places_[index];
  return {files_[p.file].data + p.offset, p.length};
}

outcome<trace_record> trace_files::record(std::size_t index) const {
  auto read = record_from_line(std::string(line(index)));
  if (read)
    return read;
  const place& p = places_[index];
  return failure{reason::bad_input, where(p.file, p.offset) + ": " + read.error().text};
}

} // namespace baton::actors
