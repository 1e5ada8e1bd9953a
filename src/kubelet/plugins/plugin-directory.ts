// The directory in which plugins create their registration sockets, <root>/plugins_registry, with
// its subdirectories. This is the only part that touches the file system.

import { type FSWatcher, watch } from 'node:fs';
import { lstat, mkdir, opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '#machinery/log.ts';

export interface PluginSocket {
  readonly path: string;
  /** Differs from that of any other socket that was at the path before. */
  readonly identity: string;
}

export interface PluginDirectory {
  /** Returns the sockets that exist now. */
  scan(): Promise<readonly PluginSocket[]>;
  /** Calls `onChange` after changes, possibly too often, until the signal aborts. */
  watch(onChange: () => void, signal: AbortSignal): void;
}

const MAX_ENTRIES = 4096;
const MAX_DEPTH = 8;

class TooManyEntriesError extends Error {}

/** Returns the directory at the path, which is created if it does not exist. */
export function pluginDirectory(root: string, logger: Logger): PluginDirectory {
  const watchers = new Map<string, FSWatcher>();
  let notify: (() => void) | undefined;

  const follow = (directory: string): void => {
    if (notify === undefined || watchers.has(directory)) return;
    try {
      const watcher = watch(directory, { persistent: false }, notify);
      const close = (): void => {
        watcher.close();
        watchers.delete(directory);
      };
      watcher.on('error', close);
      watchers.set(directory, watcher);
    } catch (error) {
      // The periodic scan still finds changes.
      logger.debug('plugin directory not watched', { path: directory, err: error });
    }
  };

  return {
    async scan() {
      await mkdir(root, { recursive: true, mode: 0o755 });
      const sockets: PluginSocket[] = [];
      const directories = new Set<string>();
      let entries = 0;
      const walk = async (directory: string, depth: number): Promise<void> => {
        directories.add(directory);
        follow(directory);
        for await (const entry of await opendir(directory)) {
          if (++entries > MAX_ENTRIES)
            throw new TooManyEntriesError(`${root} has more than ${MAX_ENTRIES} entries`);
          if (entry.name.startsWith('.')) continue;
          const path = join(directory, entry.name);
          try {
            const info = await lstat(path);
            if (info.isDirectory()) {
              if (depth < MAX_DEPTH) await walk(path, depth + 1);
              continue;
            }
            const target = info.isSymbolicLink() ? await stat(path) : info;
            if (!target.isSocket()) continue;
            sockets.push({ path, identity: `${target.dev}:${target.ino}:${target.ctimeMs}` });
          } catch (error) {
            if (error instanceof TooManyEntriesError) throw error;
            // One entry hides no other: it may be gone, a link to itself, or not readable.
            if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
              logger.debug('plugin directory: entry not read', { path, err: error });
          }
        }
      };
      await walk(root, 0);
      for (const [directory, watcher] of watchers) {
        if (directories.has(directory)) continue;
        watcher.close();
        watchers.delete(directory);
      }
      return sockets;
    },
    watch(onChange, signal) {
      if (signal.aborted) return;
      notify = onChange;
      signal.addEventListener(
        'abort',
        () => {
          notify = undefined;
          for (const watcher of watchers.values()) watcher.close();
          watchers.clear();
        },
        { once: true },
      );
    },
  };
}
