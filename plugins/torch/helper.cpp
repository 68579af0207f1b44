/* SPDX-License-Identifier: Apache-2.0 */
/* The helper process over a socket pair: MSG_NOSIGNAL spares the host a SIGPIPE when it has died. */
#include "helper.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace assay_torch {

static const size_t LINE_LIMIT_BYTES = 1 << 20;

bool helper::start(std::string *reason) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        *reason = std::string("no socket for the helper process: ") + std::strerror(errno);
        return false;
    }
    std::vector<char *> arguments;
    for (std::string &word : command) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    int failed = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failed != 0) {
        close(ends[0]);
        pid = 0;
        *reason = "the helper process '" + command[0] + "' cannot be started: " + std::strerror(failed);
        return false;
    }
    fd = ends[0];
    return true;
}

void helper::stop() {
    if (fd >= 0) {
        close(fd);
    }
    if (pid > 0) {
        kill(pid, SIGKILL);
        while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    fd = -1;
    pid = 0;
}

static double now_s() {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool helper::read_line(double timeout_s, std::string *answer, std::string *reason) {
    double until_s = now_s() + timeout_s;
    answer->clear();
    while (answer->find('\n') == std::string::npos) {
        double left_s = until_s - now_s();
        struct pollfd ready = {fd, POLLIN, 0};
        int found = left_s > 0 ? poll(&ready, 1, (int)(left_s * 1000) + 1) : 0;
        if (found < 0 && errno == EINTR) {
            continue;
        }
        if (found <= 0) {
            char limit[40];
            std::snprintf(limit, sizeof limit, "%g", timeout_s);
            *reason = std::string("the helper process did not answer within ") + limit + " s";
            return false;
        }
        char chunk[4096];
        ssize_t n = recv(fd, chunk, sizeof chunk, 0);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            *reason = "the helper process died";
            return false;
        }
        answer->append(chunk, (size_t)n);
        if (answer->size() > LINE_LIMIT_BYTES) {
            *reason = "the helper process sent a line without an end";
            return false;
        }
    }
    answer->resize(answer->find('\n'));
    return true;
}

bool helper::ask(const std::string &line, double timeout_s, std::string *answer, std::string *reason) {
    std::string sent = line + "\n";
    size_t done = 0;
    while (done < sent.size()) {
        ssize_t n = send(fd, sent.data() + done, sent.size() - done, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            *reason = "the helper process died";
            stop();
            return false;
        }
        done += (size_t)n;
    }
    if (!read_line(timeout_s, answer, reason)) {
        stop();
        return false;
    }
    return true;
}

verdict helper::request(const std::string &line, double timeout_s, std::string *answer) {
    static const struct {
        const char *word;
        verdict meaning;
    } words[] = {{"ok", verdict::ok}, {"unsupported", verdict::unsupported}, {"failed", verdict::failed}};
    static const char again[] = "; it is started again for the next operator";
    std::string said, reason;
    if (!ask(line, timeout_s, &said, &reason)) {
        *answer = reason + again;
        return verdict::broken;
    }
    size_t end = said.find(' ');
    for (const auto &w : words) {
        if (said.substr(0, end) == w.word) {
            *answer = end == std::string::npos ? "" : said.substr(end + 1);
            return w.meaning;
        }
    }
    stop();
    *answer = "the helper process answered '" + said.substr(0, 80) + "'" + again;
    return verdict::broken;
}

} // namespace assay_torch
