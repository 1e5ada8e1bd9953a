// Files in memory, for tests.

import type { DnsFiles } from '../system/sockets.ts';

export class MemoryFiles implements DnsFiles {
  readonly texts = new Map<string, string>();

  read(path: string): Promise<string | undefined> {
    return Promise.resolve(this.texts.get(path));
  }

  list(folder: string): Promise<readonly string[]> {
    const names = [...this.texts.keys()]
      .filter((path) => path.startsWith(`${folder}/`))
      .map((path) => path.slice(folder.length + 1))
      .filter((name) => !name.includes('/'));
    return Promise.resolve(names);
  }
}
