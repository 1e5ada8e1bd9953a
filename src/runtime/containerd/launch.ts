// A private containerd: started as a child with its own root, state and socket. If this process
// dies, the next one finds and reuses it. Stopping it does not stop containers, which the next one
// takes over.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CriError, type Runtime } from '#cri/index.ts';
import { type Clock, systemClock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import * as wait from '#machinery/wait.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { identify, isAlive, type ProcessIdentity, signalProcess } from '../process-identity.ts';
import { containerdToml } from './containerd-config.ts';
import { createContainerdRuntime } from './create.ts';
import { canLowerOomScore, findProgram, overlayfsWorks, systemPath, unmountBelow } from './host.ts';
import { importImages } from './import-images.ts';
import { pauseImage, pauseImageArchive } from './pause.ts';
import { MACHINE_CONFIG, machineHandlers } from './runtime-handlers.ts';
import { makeSocketDirectory } from './socket-directory.ts';

export interface LaunchContainerdConfig {
  /**
   * The directory for everything of this containerd: images, containers, configuration, log. One
   * per cluster.
   */
  readonly dir: string;
  /**
   * The directory with exactly one CNI configuration. Until that is written, pods have no network,
   * which does not delay the start.
   */
  readonly cniConfDir: string;
  readonly cniBinDir: string;
  readonly logger: Logger;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
  /** Default: overlayfs if it works on `dir`, otherwise native (which copies). */
  readonly snapshotter?: 'overlayfs' | 'native';
  /** Default: cgroupfs. */
  readonly systemdCgroup?: boolean;
  /** How long containerd may take until it responds, in milliseconds. Default: 30 s. */
  readonly readyTimeoutMs?: number;
}

export interface LaunchedContainerd {
  /** The socket as unix:///…: for createContainerdRuntime, crictl, ctr. */
  readonly endpoint: string;
  readonly pid: number;
  /** Whether it was running already. */
  readonly reused: boolean;
  readonly logFile: string;
  /** Rejects if containerd ends without a request. Never resolves. */
  readonly failed: Promise<never>;
  /** Imports images as `importImages` of import-images.ts does. */
  importImages(source: string): Promise<void>;
  /**
   * Stops containerd. Containers keep running, unless `pods` is set: then they are stopped and
   * removed first. Idempotent.
   */
  stop(options?: { readonly pods?: boolean }): Promise<void>;
  /** Stops containerd with all pods, and deletes everything below `dir`. */
  destroy(): Promise<void>;
}

const STOP_TIMEOUT_MS = 10_000;
/** Files that containerd reads in the directory of CNI configurations. */
const CNI_CONFIG = /\.(?:conf|conflist|json)$/;
/** The maximum path length of a Unix socket, minus some room for suffixes. */
const MAX_SOCKET_PATH = 100;

export interface Paths {
  readonly root: string;
  readonly state: string;
  readonly socket: string;
  readonly configFile: string;
  readonly processFile: string;
  readonly logFile: string;
}

/**
 * Returns the paths of a private containerd. If the directory's path is too long for a socket, the
 * socket is below /run, where only root can take names.
 */
export function pathsIn(dir: string): Paths {
  const near = join(dir, 'containerd.sock');
  const hash = createHash('sha256').update(dir).digest('hex').slice(0, 16);
  return {
    root: join(dir, 'root'),
    state: join(dir, 'state'),
    socket:
      near.length <= MAX_SOCKET_PATH ? near : join('/run', `coxswain-${hash}`, 'containerd.sock'),
    configFile: join(dir, 'config.toml'),
    processFile: join(dir, 'containerd.json'),
    logFile: join(dir, 'containerd.log'),
  };
}

/** Returns the directory in which a private containerd's image volumes are mounted. */
export const imageVolumesIn = (dir: string): string => join(dir, 'image-volumes');

/** Returns the directory with the mirrors of registries for a private containerd. */
export const registryDirIn = (dir: string): string => join(dir, 'certs.d');

async function writeAtomically(path: string, content: string): Promise<void> {
  await writeFile(`${path}.tmp`, content);
  await rename(`${path}.tmp`, path);
}

async function readProcess(file: string): Promise<ProcessIdentity | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as ProcessIdentity;
  } catch {
    // This process never started containerd, or the file is incomplete: the socket shows whether
    // one runs.
    return undefined;
  }
}

class Containerd implements LaunchedContainerd {
  readonly endpoint: string;
  readonly reused: boolean;
  readonly failed: Promise<never>;
  readonly #config: LaunchContainerdConfig;
  readonly #clock: Clock;
  readonly #paths: Paths;
  readonly #process: ProcessIdentity;
  readonly #snapshotter: string;
  /** Aborts when the end of containerd is requested. */
  readonly #stopping = new AbortController();
  #stopped: Promise<void> | undefined;

  constructor(
    config: LaunchContainerdConfig,
    paths: Paths,
    identity: ProcessIdentity,
    snapshotter: string,
    reused: boolean,
  ) {
    this.#config = config;
    this.#clock = config.clock ?? systemClock;
    this.#paths = paths;
    this.#process = identity;
    this.#snapshotter = snapshotter;
    this.reused = reused;
    this.endpoint = `unix://${paths.socket}`;
    this.failed = this.#watch();
    // Avoids an unhandled rejection if no caller uses it.
    this.failed.catch(() => undefined);
  }

  get pid(): number {
    return this.#process.pid;
  }

  get logFile(): string {
    return this.#paths.logFile;
  }

  importImages(source: string): Promise<void> {
    return importImages({
      socket: this.#paths.socket,
      snapshotter: this.#snapshotter,
      source,
    });
  }

  stop(options: { readonly pods?: boolean } = {}): Promise<void> {
    this.#stopped ??= this.#stop(options.pods ?? false);
    return this.#stopped;
  }

  async destroy(): Promise<void> {
    await this.stop({ pods: true });
    await unmountBelow(this.#config.dir);
    await rm(this.#config.dir, { recursive: true, force: true });
    await rm(this.#paths.socket, { force: true });
  }

  async #stop(pods: boolean): Promise<void> {
    if (pods) await this.#removePods();
    this.#stopping.abort();
    await stopProcess(this.#process, this.#clock);
    await rm(this.#paths.processFile, { force: true });
  }

  async #removePods(): Promise<void> {
    const imageVolumesDir = imageVolumesIn(this.#config.dir);
    const { runtime, close } = createContainerdRuntime({
      endpoint: this.endpoint,
      imageVolumesDir,
      clock: this.#clock,
    });
    try {
      const sandboxes = await runtime.listPodSandbox();
      await Promise.all(
        sandboxes.map(async ({ id }) => {
          await runtime.stopPodSandbox(id);
          await runtime.removePodSandbox(id);
        }),
      );
    } finally {
      await close();
    }
  }

  /** A reused containerd is not a child of this process, so its end must be polled. */
  async #watch(): Promise<never> {
    const { signal } = this.#stopping;
    try {
      await wait.pollUntil(
        { clock: this.#clock, intervalMs: 1000, signal },
        () => !isAlive(this.#process),
      );
    } catch (error) {
      if (!signal.aborted) throw error;
      return new Promise<never>(() => undefined);
    }
    throw new CriError(
      'Unavailable',
      `containerd (pid ${this.pid}) has ended: see ${this.logFile}`,
    );
  }
}

async function stopProcess(identity: ProcessIdentity, clock: Clock): Promise<void> {
  if (!signalProcess(identity, 'SIGTERM')) return;
  const gone = (): boolean => !isAlive(identity);
  try {
    await wait.pollImmediately({ clock, intervalMs: 20, timeoutMs: STOP_TIMEOUT_MS }, gone);
  } catch (error) {
    if (!(error instanceof wait.WaitTimeoutError)) throw error;
    signalProcess(identity, 'SIGKILL');
    await wait.pollImmediately({ clock, intervalMs: 20, timeoutMs: STOP_TIMEOUT_MS }, gone);
  }
}

/**
 * Returns the problem of the runtime; undefined if it is ready for pods. The pod network counts if
 * it has a configuration.
 */
async function unready(runtime: Runtime, cniConfDir: string): Promise<string | undefined> {
  try {
    await runtime.runtime.version({ timeoutMs: 2000 });
    const { status } = await runtime.runtime.status({ timeoutMs: 5000 });
    const hasNetwork = (await readdir(cniConfDir).catch(() => [])).some((name) =>
      CNI_CONFIG.test(name),
    );
    const bad = status?.conditions.find(
      (condition) => !condition.status && (hasNetwork || condition.type !== 'NetworkReady'),
    );
    return bad && `${bad.type} is false: ${bad.reason} ${bad.message}`;
  } catch (error) {
    return errorMessage(error);
  }
}

/** Returns the last lines of the log that contain errors. */
async function complaints(logFile: string): Promise<string> {
  const text = await readFile(logFile, 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter((line) => /level=(error|fatal)|^containerd:/.test(line))
    .slice(-3)
    .join('\n');
}

async function start(config: LaunchContainerdConfig, paths: Paths): Promise<ProcessIdentity> {
  const program = findProgram('containerd');
  if (program === undefined)
    throw new CriError('Unavailable', 'containerd is not installed: apt-get install containerd');
  const log = openSync(paths.logFile, 'a');
  try {
    const child = spawn(program, ['--config', paths.configFile, '--log-level', 'info'], {
      // containerd gets a session of its own: Ctrl-C in the terminal stops this process, which then
      // stops containerd in order.
      detached: true,
      stdio: ['ignore', log, log],
      cwd: '/',
      env: { ...process.env, PATH: systemPath() },
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.unref();
    const identity = identify(child.pid!);
    if (identity === undefined)
      throw new CriError(
        'Unavailable',
        `containerd ended at once: ${await complaints(paths.logFile)}`,
      );
    await writeAtomically(paths.processFile, JSON.stringify(identity));
    config.logger.debug('started containerd', { pid: identity.pid, config: paths.configFile });
    return identity;
  } finally {
    closeSync(log);
  }
}

/**
 * Returns the containerd that a former process left running here with the same configuration; one
 * with another configuration is stopped.
 */
async function findRunning(
  config: LaunchContainerdConfig,
  paths: Paths,
  toml: string,
): Promise<ProcessIdentity | undefined> {
  const identity = await readProcess(paths.processFile);
  if (identity === undefined || !isAlive(identity)) return undefined;
  const clock = config.clock ?? systemClock;
  const same = (await readFile(paths.configFile, 'utf8').catch(() => '')) === toml;
  if (same) {
    const runtime = createContainerdRuntime({ endpoint: paths.socket, clock });
    const problem = await unready(runtime, config.cniConfDir);
    await runtime.close();
    if (problem === undefined) return identity;
    config.logger.warn('running containerd is not healthy, restarting', {
      pid: identity.pid,
      problem,
    });
  }
  await stopProcess(identity, clock);
  return undefined;
}

async function ensurePauseImage(
  containerd: LaunchedContainerd,
  runtime: Runtime,
  clock: Clock,
): Promise<void> {
  if ((await runtime.images.imageStatus({ image: pauseImage })).image !== undefined) return;
  const archive = pauseImageArchive();
  if (archive === undefined) return;
  const dir = await mkdtemp(join(tmpdir(), 'coxswain-pause-'));
  try {
    const file = join(dir, 'pause.tar');
    await writeFile(file, archive);
    await containerd.importImages(file);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
  await wait.pollImmediately({ clock, intervalMs: 20, timeoutMs: 10_000 }, async () => {
    return (await runtime.images.imageStatus({ image: pauseImage })).image !== undefined;
  });
}

/**
 * Starts the containerd of `config.dir`, or finds it running, and waits until it is ready for pods.
 * If it does not start, rejects with a CriError (Unavailable) that quotes its log.
 */
export async function launchContainerd(
  config: LaunchContainerdConfig,
): Promise<LaunchedContainerd> {
  const clock = config.clock ?? systemClock;
  const paths = pathsIn(config.dir);
  await mkdir(paths.root, { recursive: true, mode: 0o711 });
  await mkdir(paths.state, { recursive: true, mode: 0o711 });
  await makeSocketDirectory(dirname(paths.socket));
  // The first choice is kept: images that were unpacked for one snapshotter are not available to
  // another.
  const snapshotter = config.snapshotter ?? (await chooseSnapshotter(paths.root));
  const toml = containerdToml({
    root: paths.root,
    state: paths.state,
    socket: paths.socket,
    snapshotter,
    sandboxImage: pauseImageArchive() === undefined ? 'registry.k8s.io/pause:3.10' : pauseImage,
    restrictOomScoreAdj: !canLowerOomScore(),
    cniConfDir: config.cniConfDir,
    cniBinDir: config.cniBinDir,
    registryDir: registryDirIn(config.dir),
    systemdCgroup: config.systemdCgroup ?? false,
    handlers: await handlersFor(config),
  });
  const running = await findRunning(config, paths, toml);
  if (running === undefined) await writeAtomically(paths.configFile, toml);
  const identity = running ?? (await start(config, paths));
  const containerd = new Containerd(config, paths, identity, snapshotter, running !== undefined);
  const runtime = createContainerdRuntime({ endpoint: containerd.endpoint, clock });
  let problem: string | undefined;
  try {
    await wait.pollImmediately(
      {
        clock,
        intervalMs: 25,
        timeoutMs: config.readyTimeoutMs ?? 30_000,
        ...(config.signal && { signal: config.signal }),
      },
      async () => {
        if (!isAlive(identity))
          throw new CriError('Unavailable', `containerd ended: ${await complaints(paths.logFile)}`);
        problem = existsSync(paths.socket)
          ? await unready(runtime, config.cniConfDir)
          : 'it does not listen yet';
        return problem === undefined;
      },
    );
    await ensurePauseImage(containerd, runtime, clock);
    return containerd;
  } catch (error) {
    await containerd.stop();
    if (!(error instanceof wait.WaitTimeoutError)) throw error;
    const message =
      `containerd is not ready: ${problem}\n${await complaints(paths.logFile)}`.trim();
    throw new CriError('Unavailable', message, { cause: error });
  } finally {
    await runtime.close();
  }
}

/** A configuration of the machine that cannot be read is no reason to run no containers. */
async function handlersFor({
  logger,
  systemdCgroup = false,
}: LaunchContainerdConfig): Promise<string> {
  const program = findProgram('containerd');
  if (program === undefined) return '';
  try {
    return await machineHandlers(program, systemdCgroup);
  } catch (error) {
    logger.warn('runtime handlers of this machine are not used', {
      file: MACHINE_CONFIG,
      err: error,
    });
    return '';
  }
}

async function chooseSnapshotter(root: string): Promise<'overlayfs' | 'native'> {
  return usedSnapshotter(root) ?? ((await overlayfsWorks(root)) ? 'overlayfs' : 'native');
}

/** Returns the snapshotter that a containerd with this root has used; undefined if it has used none. */
export function usedSnapshotter(root: string): 'overlayfs' | 'native' | undefined {
  return (['overlayfs', 'native'] as const).find((name) =>
    existsSync(join(root, `io.containerd.snapshotter.v1.${name}`, 'metadata.db')),
  );
}
