/* SPDX-License-Identifier: Apache-2.0 */
/* A process that stays alive and answers one line to each line it is sent. Knows nothing of PyTorch. */
#ifndef PLUGINS_TORCH_HELPER_H
#define PLUGINS_TORCH_HELPER_H

#include <string>
#include <vector>

#include <sys/types.h>

namespace assay_torch {

/* What became of a request. */
enum class verdict { ok, unsupported, failed, broken };

/* Dies with its owner: the other end of its standard input closes. One thread at a time. */
class helper {
public:
    explicit helper(std::vector<std::string> arguments) : command(std::move(arguments)) {}
    ~helper() { stop(); }
    helper(const helper &) = delete;
    helper &operator=(const helper &) = delete;

    bool is_running() const { return pid > 0; }
    /* False: it could not be started; *reason says why. */
    bool start(std::string *reason);
    /* Sends one line and waits for the answer, without its line end. False: it died, hung for timeout_s or sent more than a
       line may have; it is gone then and start() begins anew. */
    bool ask(const std::string &line, double timeout_s, std::string *answer, std::string *reason);
    /* As ask, for answers `ok REST`, `unsupported TEXT` and `failed TEXT`; *answer becomes what stands behind the word. broken:
       there was no such answer, *answer says what came instead, and the process is gone. */
    verdict request(const std::string &line, double timeout_s, std::string *answer);
    /* Kills it. */
    void stop();

private:
    bool read_line(double timeout_s, std::string *answer, std::string *reason);
    std::vector<std::string> command;
    pid_t pid = 0;
    int fd = -1; /* a socket: what it is sent and what it answers */
};

} // namespace assay_torch

#endif
