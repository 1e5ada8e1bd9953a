// Follows a Corefile and the files of hosts that it names: by looking at them from time to time, as
// CoreDNS does, since a mounted ConfigMap changes by a link that is replaced.

import type { Clock, Timer } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { DnsFiles } from '../../system/sockets.ts';
import type { DnsConfiguration } from '../../configuration.ts';
import { type Corefile, loadCorefile } from './corefile.ts';

export interface CorefileConfig {
  readonly path: string;
  readonly files: DnsFiles;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Texts of files, by path; undefined: there was no such file. */
type Texts = ReadonlyMap<string, string | undefined>;

interface Loaded {
  readonly corefile: Corefile;
  /** The Corefile and the files that it imports. */
  readonly texts: Texts;
  readonly hosts: Texts;
}

export class FollowedCorefile {
  readonly #config: CorefileConfig;
  #loaded: Loaded;
  /** The texts of the last attempt: what has failed is not tried again. */
  #tried: Texts;
  #use: (configuration: DnsConfiguration) => void = () => undefined;
  #onInvalid: () => void = () => undefined;
  readonly #timers = new Set<Timer>();
  /** Looks that a former configuration has asked for end when they find another number here. */
  #generation = 0;
  #stopped = false;

  private constructor(config: CorefileConfig, loaded: Loaded) {
    this.#config = config;
    this.#loaded = loaded;
    this.#tried = loaded.texts;
  }

  /** Reads the file. Rejects with CorefileError, or with the error of a file that cannot be read. */
  static async load(config: CorefileConfig): Promise<FollowedCorefile> {
    const texts = new Map<string, string>();
    return new FollowedCorefile(config, await load(config, config.files, texts));
  }

  get corefile(): Corefile {
    return this.#loaded.corefile;
  }

  /**
   * Calls `use` with each new configuration; `onInvalid` when there is one that cannot be used: the
   * one before stays in force.
   */
  follow(use: (configuration: DnsConfiguration) => void, onInvalid: () => void): void {
    this.#use = use;
    this.#onInvalid = onInvalid;
    this.#lookLater();
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  #lookLater(): void {
    if (this.#stopped) return;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    this.#generation++;
    const { reload, hosts } = this.corefile;
    if (reload !== undefined) {
      const { intervalMs, jitterMs } = reload;
      const jitter = (this.#config.random.float() - 0.5) * jitterMs;
      this.#look(intervalMs + jitter, () => this.#reload());
    }
    const intervals = hosts.map(({ reloadMs }) => reloadMs).filter((each) => each > 0);
    if (intervals.length > 0) this.#look(Math.min(...intervals), () => this.#reloadHosts());
  }

  #look(afterMs: number, look: () => Promise<void>): void {
    const generation = this.#generation;
    const timer = this.#config.clock.setTimer(afterMs, () => {
      this.#timers.delete(timer);
      void look().then(() => {
        if (generation === this.#generation && !this.#stopped) this.#look(afterMs, look);
      });
    });
    this.#timers.add(timer);
  }

  async #reload(): Promise<void> {
    const texts = new Map<string, string>();
    const next = await load(this.#config, this.#config.files, texts).catch(
      (error: unknown) => ({ error }) as const,
    );
    if (isEqual(texts, this.#tried)) return;
    this.#tried = texts;
    if ('error' in next) return this.#failed(next.error);
    const { path, logger } = this.#config;
    if (JSON.stringify(next.corefile.serving) !== JSON.stringify(this.corefile.serving)) {
      const reason = 'a server cannot change its addresses, ports or cluster: restart it';
      return this.#failed(new Error(reason));
    }
    logger.info('Corefile has changed', { path });
    this.#take(next);
  }

  /** The Corefile itself stays as it was read. */
  async #reloadHosts(): Promise<void> {
    const { texts, hosts } = this.#loaded;
    try {
      const fresh = new Map<string, string | undefined>();
      for (const path of hosts.keys()) fresh.set(path, await this.#config.files.read(path));
      if (isEqual(fresh, hosts)) return;
      const files: DnsFiles = {
        ...this.#config.files,
        read: async (path) => (texts.has(path) ? texts.get(path) : this.#config.files.read(path)),
        list: async (folder) => namesIn(texts, folder),
      };
      this.#take(await load(this.#config, files, new Map()));
    } catch (error) {
      this.#failed(error);
    }
  }

  #take(next: Loaded): void {
    if (this.#stopped) return;
    this.#loaded = next;
    this.#use(next.corefile.configuration);
    this.#lookLater();
  }

  #failed(error: unknown): void {
    if (this.#stopped) return;
    this.#onInvalid();
    this.#config.logger.error('Corefile cannot be used, keeping the previous one', {
      path: this.#config.path,
      reason: errorMessage(error),
    });
  }
}

async function load(
  { path, env, logger }: CorefileConfig,
  files: DnsFiles,
  texts: Map<string, string>,
): Promise<Loaded> {
  const hosts = new Map<string, string | undefined>();
  const corefile = await loadCorefile(path, {
    files,
    env,
    onFile: (file, text) => texts.set(file, text),
    onHosts: (file, text) => hosts.set(file, text),
    onHostsProblem: (file, line, problem) =>
      logger.warn('line of a hosts file is left out', { file, line, reason: problem }),
  });
  return { corefile, texts, hosts };
}

const isEqual = (a: Texts, b: Texts): boolean =>
  a.size === b.size && [...a].every(([path, text]) => b.has(path) && b.get(path) === text);

/** Returns the names of the files in a folder, of those that were read. */
const namesIn = (texts: Texts, folder: string): readonly string[] =>
  [...texts.keys()].flatMap((path) => {
    const slash = path.lastIndexOf('/');
    return path.slice(0, slash) === folder ? [path.slice(slash + 1)] : [];
  });
