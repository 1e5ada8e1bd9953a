// The one way from the proxy to the kernel's tables: the program nft.

import { execute } from '../execute.ts';

export interface Nft {
  /** Runs commands as one transaction: all or none. Rejects with NftError. */
  run(commands: string): Promise<void>;
  /** Returns what `nft -j list table` prints; undefined if there is no such table. */
  list(family: 'ip' | 'ip6', table: string): Promise<string | undefined>;
}

export class NftError extends Error {
  override readonly name = 'NftError';
}

const NOT_FOUND = /No such file or directory/;

/** @param prefix program and arguments that run nft, such as `ip netns exec NAME`. Default: none. */
export function systemNft(prefix: readonly string[] = []): Nft {
  const command = [...prefix, 'nft'];
  return {
    async run(commands) {
      const { code, stderr } = await execute([...command, '-f', '-'], commands);
      if (code !== 0) throw new NftError(`nft failed: ${stderr.trim() || `exit code ${code}`}`);
    },
    async list(family, table) {
      const { code, stdout, stderr } = await execute([...command, '-j', 'list', 'table', family, table], '');
      if (code === 0) return stdout;
      if (NOT_FOUND.test(stderr)) return undefined;
      throw new NftError(`nft list failed: ${stderr.trim() || `exit code ${code}`}`);
    },
  };
}
