// Pods and containers in namespaces, made with the programs of util-linux and iproute2: the part of
// the process runtime that touches the system for them. pods.ts has the pods, placement.ts the
// commands that run in containers; this file has the containers themselves: what they may ask for,
// their files, limits and metrics.
//
//   STATE/toolbox           programs that run inside of containers
//   STATE/images            image-store.ts
//   STATE/mounts            a mount of its own, private, below which containers mount
//   STATE/mounts/shm/POD    shared memory of a pod
//   STATE/pods/POD          files of a pod: resolv.conf, hosts, hostname
//   STATE/containers/ID/changes   what a container has changed in its image

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ContainerConfig,
  CriError,
  type LinuxContainerResources,
  type PodSandboxConfig,
  type PodSandboxMetrics,
} from '#cri/index.ts';
import { type Clock } from '#machinery/clock.ts';
import { execute } from '#machinery/execute.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import { ImageStore, type StoredImage } from '../../images/image-store.ts';
import type { HttpGet } from '../../images/registry-client.ts';
import { type ContainerRecord, exitReason, type SandboxRecord } from '../../records.ts';
import { ensureToolbox, type Toolbox } from '../../toolbox.ts';
import { type AccountFiles, type ContainerAccount, resolveAccount } from './accounts.ts';
import { Cgroups, type CgroupUsage } from './cgroups.ts';
import { Leftovers } from './leftovers.ts';
import { containerMetrics, networkMetrics, podMetrics } from './metrics.ts';
import { sourceOf } from './mount-sources.ts';
import { Placement } from './placement.ts';
import { checkMount } from './plan.ts';
import { IsolatedPods } from './pods.ts';
import { findPrograms, type Programs } from './programs.ts';
import { changedFiles, readContainer } from './readings.ts';
import { mountPoints } from './reset.ts';

export interface IsolationConfig {
  readonly stateDir: string;
  /** The PATH of the host's programs. */
  readonly path: string;
  /** Reads from registries. */
  readonly httpGet: HttpGet;
  /** The addresses of pods. Default: 10.86.0.0/16. */
  readonly podCidr?: string;
  /** The base URL that serves the images of a registry, by the registry's host. */
  readonly registryMirrors?: ReadonlyMap<string, string>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export class Isolation {
  readonly images: ImageStore;
  readonly cgroups = new Cgroups();
  readonly pods: IsolatedPods;
  readonly placement: Placement;
  readonly leftovers: Leftovers;
  readonly #config: IsolationConfig;

  private constructor(config: IsolationConfig, programs: Programs, toolbox: Toolbox) {
    const { stateDir, path, logger, clock, random, podCidr = '10.86.0.0/16' } = config;
    this.#config = config;
    this.images = new ImageStore({
      dir: join(stateDir, 'images'),
      clock,
      logger,
      unpacking: { toolbox, unshare: programs.unshare, path },
      httpGet: config.httpGet,
      mirrors: config.registryMirrors ?? new Map(),
    });
    this.leftovers = new Leftovers(stateDir, this.images, logger);
    const mount = mounting(programs);
    this.pods = new IsolatedPods({ stateDir, path, podCidr, programs, mount, clock, logger });
    this.placement = new Placement({
      stateDir,
      random,
      programs,
      toolbox,
      images: this.images,
      cgroups: this.cgroups,
      pods: this.pods,
      imageOf: (record) => this.imageOf(record),
      accountOf: (container, image) => this.accountOf(container, image),
      cgroupOf: (record, sandbox) => this.#cgroup(record, sandbox),
      changesOf: (id) => this.#changes(id),
    });
  }

  /**
   * Prepares the state directory. Rejects with MissingProgramError or an Error if this system has
   * no namespaces for this user.
   */
  static async create(config: IsolationConfig): Promise<Isolation> {
    const { stateDir, path, logger } = config;
    if (process.getuid?.() !== 0) throw new Error('isolation needs root');
    if (/[,:\\]/.test(stateDir))
      throw new Error(`isolation needs a data directory without , : and \\, not ${stateDir}`);
    const programs = findPrograms(path);
    for (const dir of ['images', 'pods', 'mounts'])
      mkdirSync(join(stateDir, dir), { recursive: true, mode: 0o711 });
    const toolbox = await ensureToolbox(join(stateDir, 'toolbox'), path);
    const isolation = new Isolation(config, programs, toolbox);
    if (isolation.cgroups.version === 'none')
      logger.warn('no cgroups can be made: containers are not limited');
    await makePrivateMount(join(stateDir, 'mounts'), mounting(programs));
    return isolation;
  }

  /** Returns the image of a container, which must be on the disk. */
  imageOf(record: Pick<ContainerRecord, 'config' | 'imageRef'>): StoredImage {
    return this.images.require({ image: record.imageRef });
  }

  /** Returns the user of a container. Throws InvalidArgument. */
  accountOf(config: ContainerConfig, image: StoredImage): ContainerAccount {
    const files: AccountFiles = {
      passwd: this.images.readFile(image.id, 'etc/passwd'),
      group: this.images.readFile(image.id, 'etc/group'),
    };
    return resolveAccount(config, image.config.user, files);
  }

  /** Throws InvalidArgument or FailedPrecondition for what a container cannot have. */
  checkContainer(config: ContainerConfig): void {
    for (const mount of config.mounts ?? []) {
      const checked = checkMount(mount);
      if (mount.image?.image) sourceOf(checked, this.images);
    }
    const context = config.linux?.securityContext;
    if (context?.privileged === true) return;
    const { seccomp, apparmor, selinuxOptions } = context ?? {};
    if (seccomp !== undefined && seccomp.profileType !== 'Unconfined')
      throw new CriError(
        'FailedPrecondition',
        `the seccomp profile ${seccomp.profileType ?? 'RuntimeDefault'} cannot be applied: this ` +
          'runtime loads no seccomp filters; use Unconfined, or a runtime such as containerd',
      );
    if (apparmor?.profileType === 'Localhost')
      throw new CriError('FailedPrecondition', 'AppArmor profiles are not supported');
    if (selinuxOptions?.level || selinuxOptions?.type || selinuxOptions?.role)
      throw new CriError('FailedPrecondition', 'SELinux is not supported');
  }

  /** Returns the configuration with the IDs of images that are mounted, for the status. */
  withImageRefs(config: ContainerConfig): ContainerConfig {
    if (!(config.mounts ?? []).some(({ image }) => image?.image)) return config;
    const mounts = (config.mounts ?? []).map((mount) =>
      mount.image?.image
        ? { ...mount, image: { ...mount.image, imageRef: this.images.use(mount.image) } }
        : mount,
    );
    return { ...config, mounts };
  }

  /** Makes the container's directories and cgroup. */
  createContainer(record: ContainerRecord, sandbox: PodSandboxConfig): void {
    for (const name of ['upper', 'work'])
      mkdirSync(join(this.#changes(record.id), name), { recursive: true, mode: 0o755 });
    this.cgroups.create(this.#cgroup(record, sandbox), record.config.linux?.resources ?? {});
  }

  updateContainer(
    record: ContainerRecord,
    sandbox: PodSandboxConfig,
    resources: LinuxContainerResources,
  ): void {
    if (this.cgroups.version === 'none')
      throw new CriError('Unimplemented', 'this host has no cgroups that can be written');
    this.cgroups.update(this.#cgroup(record, sandbox), resources);
  }

  /** Ends what is left of a container, and removes its cgroup. */
  removeContainer(record: ContainerRecord, sandbox: PodSandboxConfig): void {
    this.#killRest(record, sandbox);
    const group = this.#cgroup(record, sandbox);
    if (this.cgroups.remove(group)) return;
    // Killed processes are in the group until they are reaped.
    void wait
      .poll({ clock: this.#config.clock, intervalMs: 100, timeoutMs: 30_000 }, () =>
        this.cgroups.remove(group),
      )
      .catch((error: unknown) =>
        this.#config.logger.warn('cgroup not removed', { container: record.id, err: error }),
      );
  }

  /** Kills processes that the container's program has left. */
  #killRest(record: ContainerRecord, sandbox: PodSandboxConfig): void {
    for (const pid of this.cgroups.processes(this.#cgroup(record, sandbox))) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
  }

  /** Returns the reason for an exit code. Ends what the program has left. */
  exited(record: ContainerRecord, sandbox: PodSandboxConfig, exitCode: number): string {
    this.#killRest(record, sandbox);
    const killed = exitCode === 137 && this.cgroups.oomKills(this.#cgroup(record, sandbox)) > 0;
    return killed ? 'OOMKilled' : exitReason(exitCode);
  }

  usage(record: ContainerRecord, sandbox: PodSandboxConfig): CgroupUsage | undefined {
    return this.cgroups.usage(this.#cgroup(record, sandbox));
  }

  /** Returns what a container has written to its root. */
  changedFiles(record: ContainerRecord): ReturnType<typeof changedFiles> {
    return changedFiles(this.#changes(record.id));
  }

  /** Returns the metrics of a pod and its running containers. */
  async metrics(
    sandbox: SandboxRecord,
    running: readonly ContainerRecord[],
    now: number,
  ): Promise<PodSandboxMetrics> {
    const containers = await Promise.all(
      running.map(async (record) => {
        const changes = this.#changes(record.id);
        const values = await readContainer(
          this.cgroups,
          this.#cgroup(record, sandbox.config),
          changes,
        );
        const reading = {
          id: record.id,
          name: record.config.metadata?.name ?? '',
          image: record.config.image?.userSpecifiedImage || (record.config.image?.image ?? ''),
          values: {
            ...values,
            container_last_seen: now / 1e9,
            container_start_time_seconds: record.startedAt / 1e9,
          },
        };
        return {
          containerId: record.id,
          metrics: containerMetrics(reading, this.#config.stateDir, now),
        };
      }),
    );
    const name = sandbox.config.metadata?.name ?? '';
    const network = networkMetrics(sandbox.id, name, await this.pods.interfaces(sandbox), now);
    return podMetrics(sandbox.id, network, containers);
  }

  #changes(id: string): string {
    return join(this.#config.stateDir, 'containers', id, 'changes');
  }

  #cgroup(record: ContainerRecord, sandbox: PodSandboxConfig): string {
    return this.cgroups.pathOf(sandbox.linux?.cgroupParent, record.id);
  }

  /** Closes host ports. Containers keep running. */
  close(): void {
    this.pods.close();
  }
}

type Mount = (...args: string[]) => Promise<void>;

/** Returns the function that runs mount(8). */
function mounting({ mount }: Programs): Mount {
  return async (...args) => {
    const { code, stderr } = await execute([mount, ...args], '');
    if (code !== 0) throw new CriError('Internal', `mount ${args.join(' ')}: ${stderr.trim()}`);
  };
}

/** Makes the mount below which containers mount, so that the host does not see their mounts. */
async function makePrivateMount(dir: string, mount: Mount): Promise<void> {
  if (!mountPoints().includes(dir)) await mount('--bind', dir, dir);
  await mount('--make-private', dir);
  for (const name of ['root', 'shm']) mkdirSync(join(dir, name), { recursive: true, mode: 0o711 });
}
