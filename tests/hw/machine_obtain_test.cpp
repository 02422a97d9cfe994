// How a process comes to a profile: it is kept, found again, renewed when it is stale, and no state of the
// folder that keeps it is an error. The measurement is the test's own, which counts.
#include "hw/machine/obtain.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "hw/machine/profile_folder.hpp"
#include "hw/machine/text.hpp"

namespace stria::hw {
namespace {

namespace fs = std::filesystem;

class MachineObtainTest : public testing::Test {
 protected:
  MachineObtainTest() {
    std::string name = (fs::temp_directory_path() / "stria-machine-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    request_.folders = {(folder_ / "cache" / "stria").string()};
    request_.identity = {"host", "processor", "", "kernel", "portable", 2};
    request_.limits.waiting = std::chrono::seconds(60);  // however busy this machine is
    request_.clock = [this] { return now_; };
    request_.measure = [this](const Machine& known, const Deadline&) {
      ++measured_;
      Measured found;
      found.machine = known, found.complete = complete_, found.tried = tried_;
      found.machine.column_plain_ns = measured_;
      return found;
    };
  }
  ~MachineObtainTest() override { fs::remove_all(folder_); }

  fs::path file() const { return fs::path(request_.folders.front()) / request_.identity.file_name(); }
  void fill_file(const std::string& text) const { std::ofstream(file()) << text; }
  /// Whether the next process measures, and the one after it reads what that one kept.
  void expect_renewal(const char* why) {
    EXPECT_EQ(obtain(request_).source, Source::measured) << why;
    EXPECT_EQ(obtain(request_).source, Source::kept) << why;
  }

  fs::path folder_;
  ProfileRequest request_;
  std::chrono::milliseconds now_{1'000'000};
  int measured_ = 0;
  bool complete_ = true, tried_ = true;
};

TEST_F(MachineObtainTest, keeps_what_was_measured_for_later_processes) {
  const Profile first = obtain(request_), second = obtain(request_);
  EXPECT_EQ(first.source, Source::measured);
  EXPECT_EQ(first.path, file().string());
  EXPECT_EQ(second.source, Source::kept);
  EXPECT_EQ(second.path, file().string());
  EXPECT_EQ(second.machine.column_plain_ns, 1);
  EXPECT_EQ(measured_, 1);
  EXPECT_EQ(fs::status(file()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(MachineObtainTest, measures_again_when_it_is_asked_to) {
  obtain(request_);
  request_.renew = true;
  request_.started = now_ += std::chrono::milliseconds(1);
  EXPECT_EQ(obtain(request_).machine.column_plain_ns, 2);
  request_.renew = false;
  EXPECT_EQ(obtain(request_).machine.column_plain_ns, 2);
}

/// One of them may look when another one has finished.
TEST_F(MachineObtainTest, processes_that_started_before_the_new_measurement_take_it) {
  obtain(request_);
  request_.renew = true;
  request_.started = now_ + std::chrono::milliseconds(5);
  now_ += std::chrono::milliseconds(300);
  EXPECT_EQ(obtain(request_).source, Source::measured);
  request_.started += std::chrono::milliseconds(100);
  EXPECT_EQ(obtain(request_).source, Source::kept);
  EXPECT_EQ(measured_, 2);
  request_.started = now_ + std::chrono::milliseconds(1);
  EXPECT_EQ(obtain(request_).source, Source::measured) << "a user asks once more";
}

TEST_F(MachineObtainTest, measures_again_on_another_machine_and_kernel) {
  obtain(request_);
  request_.identity.kernel = "another";
  EXPECT_EQ(obtain(request_).source, Source::measured);
  request_.identity.kernel = "kernel";
  EXPECT_EQ(obtain(request_).machine.column_plain_ns, 1);
  // A file of another machine under this one's name, as a shared home might have it.
  StoredProfile foreign{.fingerprint = 1, .tries = 1, .when = 1, .complete = true, .machine = {}};
  fill_file(to_text(foreign));
  expect_renewal("another fingerprint");
}

TEST_F(MachineObtainTest, measures_further_where_the_time_did_not_suffice_but_not_for_ever) {
  complete_ = false;
  EXPECT_EQ(obtain(request_).source, Source::measured);
  EXPECT_EQ(obtain(request_).source, Source::kept) << "those that start together agree";
  for (unsigned tries = 0; tries < kMostTries + 2; ++tries) {
    now_ += kTryAfter;
    obtain(request_);
  }
  EXPECT_EQ(measured_, static_cast<int>(kMostTries));
  EXPECT_EQ(obtain(request_).source, Source::kept);
  EXPECT_NE(obtain(request_).remark, "");
}

TEST_F(MachineObtainTest, does_not_count_a_try_that_busy_processors_prevented) {
  complete_ = tried_ = false;
  for (unsigned tries = 0; tries < 2 * kMostTries; ++tries, now_ += kTryAfter)
    EXPECT_NE(obtain(request_).source, Source::measured);
  complete_ = tried_ = true;
  EXPECT_EQ(obtain(request_).source, Source::measured);
  EXPECT_EQ(obtain(request_).source, Source::kept);
}

TEST_F(MachineObtainTest, measures_again_where_the_file_is_damaged) {
  obtain(request_);
  for (const std::string& text : {std::string(), std::string("stria machine profile 3\n"),
                                  std::string("stria machine profile 1\n"), std::string(100000, 'x')}) {
    fill_file(text);
    expect_renewal(text.substr(0, 30).c_str());
  }
  fs::remove(file());
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  expect_renewal("a pipe");
}

TEST_F(MachineObtainTest, does_not_follow_a_symbolic_link) {
  obtain(request_);
  const fs::path other = folder_ / "other";
  fs::rename(file(), other);
  fs::create_symlink(other, file());
  expect_renewal("a link");
  EXPECT_FALSE(fs::is_symlink(file()));
  EXPECT_TRUE(fs::exists(other));
}

TEST_F(MachineObtainTest, does_not_trust_what_others_can_write) {
  obtain(request_);
  fs::permissions(file(), fs::perms::others_write, fs::perm_options::add);
  expect_renewal("a file that others can write");
  fs::permissions(file().parent_path(), fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(obtain(request_).path, "") << "a folder that others can write";
  if (::geteuid() != 0) return;
  fs::permissions(file().parent_path(), fs::perms::others_write, fs::perm_options::remove);
  ASSERT_EQ(::chown(file().c_str(), 12345, static_cast<gid_t>(-1)), 0);
  expect_renewal("a file of another user");
}

TEST_F(MachineObtainTest, only_measures_where_nothing_can_be_kept) {
  for (const char* folder : {"/dev/null/stria", "/proc/stria", "/nowhere/at/all"}) {
    request_.folders = {folder};
    const int before = measured_;
    const Profile profile = obtain(request_);
    EXPECT_EQ(profile.source, Source::measured) << folder;
    EXPECT_EQ(profile.path, "") << folder;
    EXPECT_NE(profile.remark, "") << folder;
    EXPECT_EQ(measured_, before + 1) << folder;
  }
}

TEST_F(MachineObtainTest, takes_the_next_folder_where_the_first_cannot_be_used) {
  request_.folders.insert(request_.folders.begin(), "/dev/null/stria");
  EXPECT_EQ(obtain(request_).source, Source::measured);
  EXPECT_EQ(obtain(request_).source, Source::kept);
}

TEST_F(MachineObtainTest, does_not_wait_for_ever_for_a_process_that_measures) {
  const auto opened = ProfileFolder::open(request_.folders.front());
  ASSERT_TRUE(opened.has_value());
  const auto lock = opened->try_lock(request_.identity.file_name());
  ASSERT_TRUE(lock.has_value() && *lock);
  request_.limits.waiting = std::chrono::microseconds(500);
  const Profile profile = obtain(request_);
  EXPECT_EQ(profile.source, Source::defaults);
  EXPECT_NE(profile.remark, "");
  EXPECT_EQ(measured_, 0);
}

TEST_F(MachineObtainTest, agrees_on_one_profile_where_eight_processes_start_at_once) {
  constexpr int kProcesses = 8;
  int start[2], results[2];
  ASSERT_EQ(::pipe(start), 0);
  ASSERT_EQ(::pipe(results), 0);
  struct Result {
    Source source;
    double figure;
  };
  for (int i = 0; i < kProcesses; ++i) {
    if (::fork() != 0) continue;
    request_.measure = [](const Machine&, const Deadline&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      Measured found;
      found.complete = true;
      found.machine.column_plain_ns = ::getpid() + 1.0 / 3;
      return found;
    };
    char go = 0;
    ::close(start[1]);
    if (::read(start[0], &go, 1) != 0) ::_exit(2);  // ends when the parent closes its end
    const Profile profile = obtain(request_);
    const Result result{profile.source, profile.machine.column_plain_ns};
    ::_exit(::write(results[1], &result, sizeof result) == sizeof result ? 0 : 3);
  }
  ::close(start[0]);
  ::close(start[1]);
  ::close(results[1]);
  int by_source[4] = {};
  double figure = 0;
  for (Result result{}; ::read(results[0], &result, sizeof result) == sizeof result;) {
    ++by_source[static_cast<int>(result.source)];
    if (figure == 0) figure = result.figure;
    EXPECT_EQ(result.figure, figure);
  }
  ::close(results[0]);
  for (int i = 0; i < kProcesses; ++i) ::wait(nullptr);
  EXPECT_EQ(by_source[static_cast<int>(Source::measured)], 1);
  EXPECT_EQ(by_source[static_cast<int>(Source::kept)], kProcesses - 1);
}

TEST_F(MachineObtainTest, reads_a_file_that_the_user_names_whatever_machine_it_is_of) {
  const std::string path = (folder_ / "given").string();
  EXPECT_EQ(read_given(path).source, Source::defaults);
  StoredProfile record{.fingerprint = 1, .tries = 1, .when = 1, .complete = true, .machine = {}};
  record.machine.column_plain_ns = 7;
  std::ofstream(path) << to_text(record);
  const Profile profile = read_given(path);
  EXPECT_EQ(profile.source, Source::given);
  EXPECT_EQ(profile.machine.column_plain_ns, 7);
  std::ofstream(path) << "something else";
  EXPECT_EQ(read_given(path).source, Source::defaults);
  EXPECT_NE(read_given(path).remark, "");
}

TEST(MachineProfileFolder, lies_in_the_users_cache_and_else_among_temporary_files) {
  const auto with = [](const char* cache, const char* home, const char* temporary) {
    for (const auto& [name, value] :
         {std::pair("XDG_CACHE_HOME", cache), {"HOME", home}, {"TMPDIR", temporary}})
      value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
    return ProfileFolder::candidates();
  };
  const std::string own = "/stria-" + std::to_string(::geteuid());
  EXPECT_THAT(with("/cache", "/home/me", nullptr), testing::ElementsAre("/cache/stria", "/tmp" + own));
  EXPECT_THAT(with(nullptr, "/home/me", "/scratch"),
              testing::ElementsAre("/home/me/.cache/stria", "/scratch" + own));
  EXPECT_THAT(with("relative", nullptr, "relative"), testing::ElementsAre("/tmp" + own));
}

}  // namespace
}  // namespace stria::hw
