"""A real Slurm of one node for as long as a test lasts: munged, slurmctld and slurmd of this user."""

import os
import shutil
import signal
import socket
import subprocess
import time

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol")
SBIN = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


def missing():
    """The programs that this machine lacks."""
    return [name for name in NEEDED if shutil.which(name, path=SBIN) is None]


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def this_machine():
    """What slurmd finds of processors and memory: "CPUs=2 ... RealMemory=24105"."""
    words = subprocess.run([shutil.which("slurmd", path=SBIN), "-C"], capture_output=True, text=True,
                           check=True).stdout.split()
    return " ".join(word for word in words if word.split("=")[0] in ("CPUs", "Boards", "SocketsPerBoard",
                                                                     "CoresPerSocket", "ThreadsPerCore",
                                                                     "RealMemory"))


CONFIGURATION = """ClusterName=headway
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=100000,bf_interval=1
MinJobAge=3600
KillWait=30
PropagateResourceLimits=NONE
NodeName={host} NodeAddr=127.0.0.1 {machine} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE OverSubscribe=FORCE:8 State=UP
"""


class Slurm:
    """The three services in a folder of their own; stop() ends them."""

    def __init__(self, folder):
        self.folder = folder
        self.processes = []
        for name in ("state", "spool"):
            os.makedirs(os.path.join(folder, name))
        self.configuration = os.path.join(folder, "slurm.conf")
        host = socket.gethostname().split(".")[0]
        with open(self.configuration, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(host=host, user=os.environ.get("USER") or _user(), folder=folder,
                                            ports=free_ports(2), machine=this_machine()))
        self.environment = {**{name: value for name, value in os.environ.items()
                               if not name.startswith(("SLURM", "SBATCH", "SRUN"))},
                            "SLURM_CONF": self.configuration, "PATH": SBIN}
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self):
        key = os.path.join(self.folder, "munge.key")
        with open(os.open(key, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
            file.write(os.urandom(1024))
        os.chmod(self.folder, 0o755)
        at = {name: os.path.join(self.folder, "munge." + name) for name in ("socket", "pid", "log", "seed")}
        self._spawn("munged", "--foreground", "--force", "--num-threads=2", f"--key-file={key}",
                    f"--socket={at['socket']}", f"--pid-file={at['pid']}", f"--log-file={at['log']}",
                    f"--seed-file={at['seed']}")
        self._wait_until(lambda: os.path.exists(at["socket"]), "munged")
        self._spawn("slurmctld", "-D", "-c")
        self._spawn("slurmd", "-D", "-c")
        self._wait_until(lambda: "idle" in self.run("sinfo", "-h", "-o", "%T", check=False).stdout, "slurmd")

    def _spawn(self, name, *arguments):
        with open(os.path.join(self.folder, name + ".out"), "wb") as out:
            self.processes.append(subprocess.Popen(
                [shutil.which(name, path=SBIN), *arguments], env=self.environment, cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT))

    def _wait_until(self, condition, what, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end or any(process.poll() is not None for process in self.processes):
                raise RuntimeError(f"{what} does not come up:\n{self.logs()}")
            time.sleep(0.2)

    def logs(self):
        text = ""
        for name in sorted(os.listdir(self.folder)):
            if name.endswith((".log", ".out")):
                with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file:
                    text += f"-- {name}\n{file.read()[-3000:]}\n"
        return text

    def run(self, *command, check=True, **environment):
        done = subprocess.run(command, env={**self.environment, **environment}, capture_output=True, text=True,
                              check=False, timeout=120, stdin=subprocess.DEVNULL)
        if check and done.returncode != 0:
            raise RuntimeError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}\n{self.logs()}")
        return done

    def state(self, job):
        """The state of a job, "COMPLETED" say; of an array, of all its parts in order."""
        shown = self.run("scontrol", "show", "job", "-o", job).stdout
        jobs = [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in shown.splitlines()]
        jobs.sort(key=lambda one: int(one.get("ArrayTaskId", "0").split("-")[0].split(",")[0]))
        return [one["JobState"] for one in jobs]

    def wait_for(self, job, wanted, seconds=240):
        """Waits until every part of a job is in one of the wanted states."""
        end = time.monotonic() + seconds
        while not all(state in wanted for state in self.state(job)):
            if time.monotonic() > end:
                raise RuntimeError(f"job {job} is {self.state(job)}, not {wanted}\n{self.logs()}")
            time.sleep(0.3)
        return self.state(job)

    def stop(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _user():
    import pwd
    return pwd.getpwuid(os.getuid()).pw_name
