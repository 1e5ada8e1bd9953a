// Pods and containers in namespaces, made with the programs of util-linux and iproute2: the part of
// the process runtime that touches the system for them. plan.ts decides what a container's setup is,
// setup-script.ts does it.
//
//   STATE/toolbox           programs that run inside of containers
//   STATE/images            image-store.ts
//   STATE/mounts            a mount of its own, private, below which containers mount
//   STATE/mounts/shm/POD    shared memory of a pod
//   STATE/pods/POD          files of a pod: resolv.conf, hosts, hostname
//   STATE/containers/ID/changes   what a container has changed in its image

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { hostname as hostName } from 'node:os';
import { basename, join } from 'node:path';
import {
  type ContainerConfig,
  CriError,
  type LinuxContainerResources,
  type PodSandboxConfig,
  type PodSandboxMetrics,
} from '#cri/index.ts';
import { type Clock } from '#machinery/clock.ts';
import { execute, SYSTEM_PATH } from '#machinery/execute.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import { AddressPool } from '../../address-pool.ts';
import { ImageStore, type StoredImage } from '../../images/image-store.ts';
import type { HttpGet } from '../../images/registry-client.ts';
import { isAlive, signalProcess } from '../../process-identity.ts';
import { type ContainerRecord, exitReason, type SandboxRecord } from '../../records.ts';
import { ensureToolbox, requireProgram, type Toolbox, toolCommand } from '../../toolbox.ts';
import { type AccountFiles, type ContainerAccount, resolveAccount } from './accounts.ts';
import { Cgroups, type CgroupUsage } from './cgroups.ts';
import { startHolder, sysctlFiles } from './holder.ts';
import {
  containerMetrics,
  type InterfaceReading,
  networkMetrics,
  parseInterfaces,
  podMetrics,
} from './metrics.ts';
import { PodNetwork } from './network.ts';
import {
  checkMount,
  environment,
  planSteps,
  privilegeOptions,
  programOf,
  workingDirectory,
} from './plan.ts';
import { checkPortMappings, PortMap } from './port-map.ts';
import { changedFiles, readContainer } from './readings.ts';
import { mountPoints } from './reset.ts';
import { BECOME, SETUP, TOOLS } from './setup-script.ts';

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

/** How to run a program in a container. */
export interface Placed {
  readonly command: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  /** The user that reads the environment file. */
  readonly owner: number;
}

// $1 is the number of files into which the process writes itself; the command follows.
const JOIN =
  'n=$1; shift; while [ "$n" -gt 0 ]; do echo 0 > "$1" || exit 125; shift; n=$((n-1)); done; exec "$@"';

const SHM_OPTIONS = 'nosuid,nodev,noexec,mode=1777,size=65536k';
const MAX_DEVICES = 500;

type NamespaceMode = 'POD' | 'CONTAINER' | 'NODE' | 'TARGET';

interface Programs {
  readonly unshare: string;
  readonly nsenter: string;
  readonly mount: string;
  readonly umount: string;
  readonly pivotRoot: string;
  readonly ip: string;
  readonly nft: string | undefined;
}

export class Isolation {
  readonly images: ImageStore;
  readonly cgroups = new Cgroups();
  readonly #config: IsolationConfig;
  readonly #programs: Programs;
  readonly #toolbox: Toolbox;
  readonly #network: PodNetwork;
  readonly #addresses: AddressPool;
  readonly #ports = new Map<string, PortMap>();
  #imagesInUse: () => ReadonlySet<string> = () => new Set();

  private constructor(config: IsolationConfig, programs: Programs, toolbox: Toolbox) {
    const { stateDir, path, logger, clock } = config;
    this.#config = config;
    this.#programs = programs;
    this.#toolbox = toolbox;
    const cidr = config.podCidr ?? '10.86.0.0/16';
    this.#addresses = new AddressPool(cidr);
    this.#network = new PodNetwork({ ...programs, owner: stateDir, cidr, logger });
    this.images = new ImageStore({
      dir: join(stateDir, 'images'),
      clock,
      logger,
      unpacking: { toolbox, unshare: programs.unshare, path },
      httpGet: config.httpGet,
      mirrors: config.registryMirrors ?? new Map(),
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
    const programs: Programs = {
      unshare: requireProgram('unshare', path, 'util-linux'),
      nsenter: requireProgram('nsenter', path, 'util-linux'),
      mount: requireProgram('mount', path, 'mount'),
      umount: requireProgram('umount', path, 'mount'),
      pivotRoot: requireProgram('pivot_root', path, 'util-linux'),
      ip: requireProgram('ip', path, 'iproute2'),
      nft: optional(() => requireProgram('nft', path, 'nftables')),
    };
    for (const dir of ['images', 'pods', 'mounts'])
      mkdirSync(join(stateDir, dir), { recursive: true, mode: 0o711 });
    const toolbox = await ensureToolbox(join(stateDir, 'toolbox'), path);
    const isolation = new Isolation(config, programs, toolbox);
    if (isolation.cgroups.version === 'none')
      logger.warn('no cgroups can be made: containers are not limited');
    await isolation.#makePrivateMount();
    return isolation;
  }

  /** Makes the mount below which containers mount, so that the host does not see their mounts. */
  async #makePrivateMount(): Promise<void> {
    const dir = join(this.#config.stateDir, 'mounts');
    if (!mountPoints().includes(dir)) await this.#mount('--bind', dir, dir);
    await this.#mount('--make-private', dir);
    for (const name of ['root', 'shm'])
      mkdirSync(join(dir, name), { recursive: true, mode: 0o711 });
  }

  async #mount(...args: string[]): Promise<void> {
    const { code, stderr } = await execute([this.#programs.mount, ...args], '');
    if (code !== 0) throw new CriError('Internal', `mount ${args.join(' ')}: ${stderr.trim()}`);
  }

  // Pods

  /** Throws InvalidArgument for what cannot be done. */
  checkSandbox(config: PodSandboxConfig): void {
    checkPortMappings(config.portMappings ?? []);
    const options = config.linux?.securityContext?.namespaceOptions;
    const { usernsOptions } = options ?? {};
    if (usernsOptions !== undefined && usernsOptions.mode !== 'NODE')
      throw new CriError('InvalidArgument', 'user namespaces are not supported by this runtime');
    sysctlFiles(config.linux?.sysctls ?? {}, {
      net: options?.network !== 'NODE',
      ipc: options?.ipc !== 'NODE',
    });
  }

  /** Returns an address for a pod with a network of its own; '' for others. */
  allocateAddress(config: PodSandboxConfig): string {
    return networkOf(config) === 'NODE' ? '' : this.#addresses.allocate();
  }

  /** Makes the pod's namespaces, files and network. Rejects after undoing what was made. */
  async startSandbox(record: SandboxRecord): Promise<void> {
    const { config, id, ip } = record;
    const options = config.linux?.securityContext?.namespaceOptions;
    const own = { net: options?.network !== 'NODE', ipc: options?.ipc !== 'NODE' };
    try {
      this.#writePodFiles(record);
      if (own.ipc) {
        mkdirSync(this.#sharedMemory(id), { mode: 0o711 });
        await this.#mount('-t', 'tmpfs', '-o', SHM_OPTIONS, 'shm', this.#sharedMemory(id));
      }
      record.holder = await startHolder({
        fifo: join(this.#config.stateDir, 'pods', id, 'hold'),
        unshare: this.#programs.unshare,
        namespaces: [
          ...(own.net ? ['--net', '--uts'] : []),
          ...(own.ipc ? ['--ipc'] : []),
          ...((options?.pid ?? 'POD') === 'POD' ? ['--pid'] : []),
        ],
        hostname: own.net ? (config.hostname ?? '') : '',
        sysctls: sysctlFiles(config.linux?.sysctls ?? {}, own),
        path: this.#config.path,
      });
      if (own.net) {
        await this.#network.attach(record.holder.pid, id, ip);
        await this.#openPorts(record);
      }
    } catch (error) {
      await this.stopSandbox(record);
      this.removeSandbox(id);
      throw error;
    }
  }

  async #openPorts({ id, config, ip }: SandboxRecord): Promise<void> {
    const map = new PortMap(this.#config);
    await map.open(config.portMappings ?? [], ip);
    this.#ports.set(id, map);
  }

  /** Takes over a pod of a former runtime. Returns false if its namespaces are gone. */
  adoptSandbox(record: SandboxRecord): boolean {
    if (record.holder === undefined || !isAlive(record.holder)) return false;
    this.#addresses.reserve(record.ip);
    if (record.ip !== '')
      this.#openPorts(record).catch((error: unknown) =>
        this.#config.logger.error('host ports of a pod not opened', { pod: record.id, err: error }),
      );
    return true;
  }

  /** Ends the pod's namespaces. Idempotent. */
  async stopSandbox(record: SandboxRecord): Promise<void> {
    const { id, ip, holder } = record;
    this.#ports.get(id)?.close();
    this.#ports.delete(id);
    if (holder !== undefined && isAlive(holder)) signalProcess(holder, 'SIGKILL');
    const shm = this.#sharedMemory(id);
    if (existsSync(shm)) {
      await execute([this.#programs.umount, '-l', shm], '');
      rmSync(shm, { recursive: true, force: true });
    }
    this.#addresses.release(ip);
  }

  removeSandbox(id: string): void {
    rmSync(join(this.#config.stateDir, 'pods', id), { recursive: true, force: true });
  }

  #sharedMemory(id: string): string {
    return join(this.#config.stateDir, 'mounts', 'shm', id);
  }

  #writePodFiles({ id, config, ip }: SandboxRecord): void {
    const dir = join(this.#config.stateDir, 'pods', id);
    mkdirSync(dir, { recursive: true, mode: 0o711 });
    const name = networkOf(config) === 'NODE' ? hostName() : config.hostname || id.slice(0, 12);
    const files = {
      hostname: `${name}\n`,
      hosts:
        '127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n' +
        (ip === '' ? '' : `${ip}\t${name}\n`),
      'resolv.conf': resolvConf(config),
    };
    for (const [file, text] of Object.entries(files)) writeFileSync(join(dir, file), text);
  }

  // Containers

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
      if (mount.image?.image) this.#sourceOf(checked);
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

  /** Deletes a container's directory, which may have many files, without waiting for it. */
  discard(dir: string): void {
    const trash = join(this.#config.stateDir, 'trash');
    mkdirSync(trash, { recursive: true, mode: 0o700 });
    if (existsSync(dir)) renameSync(dir, join(trash, basename(dir)));
    this.#emptyTrash();
    this.#collectImages();
  }

  #emptyTrash(): void {
    const trash = join(this.#config.stateDir, 'trash');
    rm(trash, { recursive: true, force: true }).catch((error: unknown) =>
      this.#config.logger.warn('files of removed containers not deleted', { err: error }),
    );
  }

  /** Deletes files of removed images, now and later, as soon as no container uses them. */
  watchImages(inUse: () => ReadonlySet<string>): void {
    this.#imagesInUse = inUse;
    this.images.onRemove(() => this.#collectImages());
    this.#collectImages();
    this.#emptyTrash();
  }

  #collectImages(): void {
    this.images
      .collect(this.#imagesInUse())
      .catch((error: unknown) =>
        this.#config.logger.warn('files of removed images not deleted', { err: error }),
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

  /** Returns the interfaces of a pod with a network of its own. */
  async interfaces({ holder, ip }: SandboxRecord): Promise<readonly InterfaceReading[]> {
    if (holder === undefined || ip === '') return [];
    return parseInterfaces(await readFile(`/proc/${holder.pid}/net/dev`, 'utf8').catch(() => ''));
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
    const network = networkMetrics(sandbox.id, name, await this.interfaces(sandbox), now);
    return podMetrics(sandbox.id, network, containers);
  }

  #changes(id: string): string {
    return join(this.#config.stateDir, 'containers', id, 'changes');
  }

  #cgroup(record: ContainerRecord, sandbox: PodSandboxConfig): string {
    return this.cgroups.pathOf(sandbox.linux?.cgroupParent, record.id);
  }

  /**
   * Returns the command that makes the container and becomes its program. `dir`: the container's
   * directory; `target`: the pid of the container whose processes it shares.
   */
  place(
    record: ContainerRecord,
    sandbox: SandboxRecord,
    dir: string,
    target: number | undefined,
  ): Placed {
    const { stateDir, random } = this.#config;
    const { unshare, pivotRoot } = this.#programs;
    const { config } = record;
    const image = this.imageOf(record);
    const account = this.accountOf(config, image);
    const pods = join(stateDir, 'pods', sandbox.id);
    const lower = this.images.rootDirectory(image.id);
    if (lower === undefined)
      throw new CriError('ImageNotFound', `image ${image.id} is not present`);
    const input = {
      config,
      sandbox: sandbox.config,
      image: image.config,
      account,
      lower,
      changes: this.#changes(record.id),
      oldRoot: `.coxswain-old-${Buffer.from(random.bytes(12)).toString('hex')}`,
      pivotRoot,
      podFiles: new Map(
        ['hostname', 'hosts', 'resolv.conf'].map((name) => [`/etc/${name}`, join(pods, name)]),
      ),
      sharedMemory:
        modeOf(config, sandbox.config, 'ipc') === 'NODE'
          ? undefined
          : this.#sharedMemory(sandbox.id),
      hostDevices: config.linux?.securityContext?.privileged === true ? hostDevices() : [],
      sources: new Map(
        (config.mounts ?? [])
          .map(checkMount)
          .map((mount) => [mount.containerPath, this.#sourceOf(mount)]),
      ),
      cgroups: this.cgroups.version,
    };
    const pid = modeOf(config, sandbox.config, 'pid');
    const own = pid === 'CONTAINER' ? ['--pid', '--fork', '--kill-child'] : [];
    const command = [
      ...this.#joining(record, sandbox),
      ...this.#entering(config, sandbox, target),
      unshare,
      '--mount',
      '--propagation=unchanged',
      '--cgroup',
      ...own,
      '--',
      '/bin/sh',
      '-c',
      SETUP,
      'sh',
      dir,
      this.#toolbox.dir,
      this.#toolbox.loader,
      join(stateDir, 'mounts', 'root'),
      ...planSteps(input).flat(),
      'exec',
      ...this.#becoming(config, account, image),
      ...programOf(config, image.config),
    ];
    return {
      command: openingEnvironment(dir, command),
      env: environment(input, account),
      owner: account.uid,
    };
  }

  /** Returns the command that runs another program in a container; `pid`: of its first process. */
  placeExec(
    record: ContainerRecord,
    sandbox: SandboxRecord,
    dir: string,
    pid: number,
    program: readonly string[],
  ): readonly [string, ...string[]] {
    const image = this.imageOf(record);
    const account = this.accountOf(record.config, image);
    return openingEnvironment(dir, [
      ...this.#joining(record, sandbox),
      this.#programs.nsenter,
      `--target=${pid}`,
      '--mount',
      '--uts',
      '--ipc',
      '--net',
      '--pid',
      '--cgroup',
      '--',
      ...this.#becoming(record.config, account, image),
      ...program,
    ]);
  }

  /** Returns the command that enters the pod's network namespace. */
  enterNetwork({ holder }: SandboxRecord): readonly string[] {
    if (holder === undefined) return [];
    return [this.#programs.nsenter, `--net=/proc/${holder.pid}/ns/net`, '--'];
  }

  #joining(record: ContainerRecord, sandbox: SandboxRecord): readonly string[] {
    const files = this.cgroups.joinFiles(this.#cgroup(record, sandbox.config));
    return ['/bin/sh', '-c', JOIN, 'sh', String(files.length), ...files];
  }

  #entering(
    config: ContainerConfig,
    sandbox: SandboxRecord,
    target: number | undefined,
  ): readonly string[] {
    const { holder } = sandbox;
    if (holder === undefined) throw new CriError('Internal', 'the pod has no namespaces');
    const { nsenter } = this.#programs;
    const pid = modeOf(config, sandbox.config, 'pid');
    const shared = [
      ...(networkOf(sandbox.config) === 'NODE' ? [] : ['--net', '--uts']),
      ...(modeOf(config, sandbox.config, 'ipc') === 'NODE' ? [] : ['--ipc']),
      ...(pid === 'POD' ? ['--pid'] : []),
      ...(pid === 'TARGET' && target !== undefined ? [`--pid=/proc/${target}/ns/pid`] : []),
    ];
    return shared.length === 0 ? [] : [nsenter, `--target=${holder.pid}`, ...shared, '--'];
  }

  #becoming(
    config: ContainerConfig,
    account: ContainerAccount,
    image: StoredImage,
  ): readonly string[] {
    return [
      ...toolCommand(this.#toolbox, TOOLS, 'setpriv'),
      ...privilegeOptions(config, account),
      '--',
      ...toolCommand(this.#toolbox, TOOLS, 'sh'),
      '-c',
      BECOME,
      'sh',
      workingDirectory(config, image.config),
      TOOLS,
      this.#toolbox.loader,
    ];
  }

  /** Returns the source of a mount without links. Throws InvalidArgument. */
  #sourceOf(mount: ReturnType<typeof checkMount>): string {
    const { image, imageSubPath = '', hostPath = '', containerPath } = mount;
    const fail = (why: string): never => {
      throw new CriError('InvalidArgument', `cannot mount a volume at ${containerPath}: ${why}`);
    };
    if (image?.image) {
      const stored = this.images.require(image);
      const root = realpathSync(this.images.rootDirectory(stored.id) ?? fail('the image is gone'));
      const source = optional(() => realpathSync(join(root, imageSubPath)));
      if (source === undefined) return fail(`the image has no ${JSON.stringify(imageSubPath)}`);
      if (source !== root && !source.startsWith(`${root}/`))
        return fail(`${JSON.stringify(imageSubPath)} leads out of the image`);
      return source;
    }
    // As by other runtimes, a directory that does not exist is made.
    if (!existsSync(hostPath)) mkdirSync(hostPath, { recursive: true });
    return realpathSync(hostPath);
  }

  /** Closes host ports. Containers keep running. */
  close(): void {
    for (const map of this.#ports.values()) map.close();
    this.#ports.clear();
  }
}

/** Returns why this process cannot make namespaces; undefined if it can, as far as is known. */
export function missingForIsolation(path = SYSTEM_PATH): string | undefined {
  if (process.platform !== 'linux') return 'namespaces need Linux';
  if (process.getuid?.() !== 0) return 'namespaces need root';
  if (!existsSync('/proc/self/ns/pid')) return 'this kernel has no namespaces';
  for (const [name, packageName] of PROGRAMS) {
    if (optional(() => requireProgram(name, path, packageName)) === undefined)
      return `namespaces need ${name} (package ${packageName})`;
  }
  return undefined;
}

/** Programs of this host that run outside of containers, with the Debian package of each. */
const PROGRAMS = [
  ['unshare', 'util-linux'],
  ['nsenter', 'util-linux'],
  ['setpriv', 'util-linux'],
  ['pivot_root', 'util-linux'],
  ['mount', 'mount'],
  ['umount', 'mount'],
  ['ip', 'iproute2'],
] as const;

const OPEN_ENVIRONMENT = 'exec 3<"$1"; shift; exec "$@"';

function openingEnvironment(
  dir: string,
  command: readonly string[],
): readonly [string, ...string[]] {
  return ['/bin/sh', '-c', OPEN_ENVIRONMENT, 'sh', join(dir, 'env'), ...command];
}

const networkOf = (config: PodSandboxConfig): NamespaceMode =>
  config.linux?.securityContext?.namespaceOptions?.network ?? 'POD';

/** Returns which namespace a container has: its own setting, or else its pod's. */
function modeOf(
  config: ContainerConfig,
  sandbox: PodSandboxConfig,
  kind: 'pid' | 'ipc',
): NamespaceMode {
  const own = config.linux?.securityContext?.namespaceOptions;
  const pod = sandbox.linux?.securityContext?.namespaceOptions;
  return (own === undefined ? pod?.[kind] : own[kind]) ?? 'POD';
}

function resolvConf(config: PodSandboxConfig): string {
  const { servers = [], searches = [], options = [] } = config.dnsConfig ?? {};
  if (servers.length + searches.length + options.length === 0)
    return optional(() => readFileSync('/etc/resolv.conf', 'utf8')) ?? '';
  return [
    ...(searches.length > 0 ? [`search ${searches.join(' ')}`] : []),
    ...servers.map((server) => `nameserver ${server}`),
    ...(options.length > 0 ? [`options ${options.join(' ')}`] : []),
    '',
  ].join('\n');
}

/** Returns the device nodes of the host, without terminals of other sessions. */
function hostDevices(): readonly string[] {
  return readdirSync('/dev', { withFileTypes: true })
    .filter((entry) => entry.isBlockDevice() || entry.isCharacterDevice())
    .map(({ name }) => name)
    .filter((name) => !/^(?:null|zero|full|u?random|tty\d*|console|ptmx|vcs.*)$/.test(name))
    .slice(0, MAX_DEVICES)
    .map((name) => `/dev/${name}`);
}

function optional<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
