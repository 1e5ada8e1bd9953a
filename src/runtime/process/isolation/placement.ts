// The commands by which programs get into containers: into their cgroups and namespaces, with their
// user and capabilities. plan.ts decides the steps of a container, setup-script.ts does them.

import { join } from 'node:path';
import { type ContainerConfig, CriError, type PodSandboxConfig } from '#cri/index.ts';
import type { Random } from '#machinery/random.ts';
import type { ImageStore, StoredImage } from '../../images/image-store.ts';
import type { ContainerRecord, SandboxRecord } from '../../records.ts';
import { type Toolbox, toolCommand } from '../../toolbox.ts';
import type { ContainerAccount } from './accounts.ts';
import type { Cgroups } from './cgroups.ts';
import { hostDevices, sourceOf } from './mount-sources.ts';
import { modeOf, networkOf } from './namespace-modes.ts';
import {
  checkMount,
  environment,
  planSteps,
  privilegeOptions,
  programOf,
  workingDirectory,
} from './plan.ts';
import { podFiles } from './pod-files.ts';
import type { IsolatedPods } from './pods.ts';
import type { Programs } from './programs.ts';
import { BECOME, SETUP, TOOLS } from './setup-script.ts';

export interface PlacementConfig {
  readonly stateDir: string;
  readonly random: Random;
  readonly programs: Programs;
  readonly toolbox: Toolbox;
  readonly images: ImageStore;
  readonly cgroups: Cgroups;
  readonly pods: IsolatedPods;
  readonly imageOf: (record: ContainerRecord) => StoredImage;
  readonly accountOf: (config: ContainerConfig, image: StoredImage) => ContainerAccount;
  /** Returns the cgroup of a container. */
  readonly cgroupOf: (record: ContainerRecord, sandbox: PodSandboxConfig) => string;
  /** Returns the directory of what a container changes in its image. */
  readonly changesOf: (id: string) => string;
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

export class Placement {
  readonly #config: PlacementConfig;

  constructor(config: PlacementConfig) {
    this.#config = config;
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
    const { stateDir, random, pods, images, programs } = this.#config;
    const { unshare, pivotRoot } = programs;
    const { config } = record;
    const image = this.#config.imageOf(record);
    const account = this.#config.accountOf(config, image);
    const lower = images.rootDirectory(image.id);
    if (lower === undefined)
      throw new CriError('ImageNotFound', `image ${image.id} is not present`);
    const input = {
      config,
      sandbox: sandbox.config,
      image: image.config,
      account,
      lower,
      changes: this.#config.changesOf(record.id),
      oldRoot: `.coxswain-old-${Buffer.from(random.bytes(12)).toString('hex')}`,
      pivotRoot,
      podFiles: podFiles(pods.directory(sandbox.id)),
      sharedMemory:
        modeOf(config, sandbox.config, 'ipc') === 'NODE'
          ? undefined
          : pods.sharedMemory(sandbox.id),
      hostDevices: config.linux?.securityContext?.privileged === true ? hostDevices() : [],
      sources: new Map(
        (config.mounts ?? [])
          .map(checkMount)
          .map((mount) => [mount.containerPath, sourceOf(mount, images)]),
      ),
      cgroups: this.#config.cgroups.version,
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
      this.#config.toolbox.dir,
      this.#config.toolbox.loader,
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
    const image = this.#config.imageOf(record);
    const account = this.#config.accountOf(record.config, image);
    return openingEnvironment(dir, [
      ...this.#joining(record, sandbox),
      this.#config.programs.nsenter,
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
    return [this.#config.programs.nsenter, `--net=/proc/${holder.pid}/ns/net`, '--'];
  }

  #joining(record: ContainerRecord, sandbox: SandboxRecord): readonly string[] {
    const files = this.#config.cgroups.joinFiles(this.#config.cgroupOf(record, sandbox.config));
    return ['/bin/sh', '-c', JOIN, 'sh', String(files.length), ...files];
  }

  #entering(
    config: ContainerConfig,
    sandbox: SandboxRecord,
    target: number | undefined,
  ): readonly string[] {
    const { holder } = sandbox;
    if (holder === undefined) throw new CriError('Internal', 'the pod has no namespaces');
    const { nsenter } = this.#config.programs;
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
      ...toolCommand(this.#config.toolbox, TOOLS, 'setpriv'),
      ...privilegeOptions(config, account),
      '--',
      ...toolCommand(this.#config.toolbox, TOOLS, 'sh'),
      '-c',
      BECOME,
      'sh',
      workingDirectory(config, image.config),
      TOOLS,
      this.#config.toolbox.loader,
    ];
  }
}

const OPEN_ENVIRONMENT = 'exec 3<"$1"; shift; exec "$@"';

function openingEnvironment(
  dir: string,
  command: readonly string[],
): readonly [string, ...string[]] {
  return ['/bin/sh', '-c', OPEN_ENVIRONMENT, 'sh', join(dir, 'env'), ...command];
}
