// The interface to the kernel's nftables: the program nft. All parts that program tables (service
// proxy, network policies, pod networks) use it. FakeNft replaces it in tests.

import { execute } from '../../execute.ts';
import { NftError, parseNftError } from './error.ts';

/** The table families in use. */
export type NftFamily = 'ip' | 'ip6' | 'inet' | 'arp' | 'bridge' | 'netdev';

export interface NftTable {
  readonly family: NftFamily;
  readonly name: string;
}

export interface Nft {
  /**
   * Runs commands, one per line, as one transaction: the kernel applies all of them or none.
   * Rejects with NftError. Commands must not contain text from users: names are constants or
   * hashes.
   */
  run(commands: string): Promise<void>;
  /**
   * Returns the error with which `run` would reject; undefined if the kernel would accept the
   * commands. Changes nothing.
   */
  check(commands: string): Promise<NftError | undefined>;
  /**
   * Returns the output of `nft -j list table`; undefined if there is no such table. Rejects with
   * NftError.
   */
  list(family: NftFamily, table: string): Promise<string | undefined>;
  /** Returns all tables of this network namespace. Rejects with NftError. */
  tables(): Promise<readonly NftTable[]>;
}

/**
 * Returns the interface to nft.
 *
 * @param prefix program and arguments that run nft, such as `ip netns exec NAME`. Default: none.
 */
export function systemNft(prefix: readonly string[] = []): Nft {
  const command = [...prefix, 'nft'];
  const start = async (
    args: readonly string[],
    input: string,
  ): Promise<{ stdout: string; error: NftError | undefined }> => {
    const { code, stdout, stderr } = await executeNft([...command, ...args], input);
    return { stdout, error: code === 0 ? undefined : parseNftError(stderr, code) };
  };
  return {
    async run(commands) {
      const { error } = await start(['-f', '-'], commands);
      if (error !== undefined) throw error;
    },
    check: async (commands) => (await start(['--check', '-f', '-'], commands)).error,
    async list(family, table) {
      const { stdout, error } = await start(['-j', 'list', 'table', family, table], '');
      if (error === undefined) return stdout;
      if (error.reason === 'NotFound') return undefined;
      throw error;
    },
    async tables() {
      const { stdout, error } = await start(['-j', 'list', 'tables'], '');
      if (error !== undefined) throw error;
      const { nftables } = JSON.parse(stdout) as { nftables: readonly { table?: NftTable }[] };
      return nftables.flatMap(({ table }) =>
        table === undefined ? [] : [{ family: table.family, name: table.name }],
      );
    },
  };
}

/** Does the same as execute(), but reports a program that cannot be started as an NftError. */
async function executeNft(command: readonly string[], input: string): ReturnType<typeof execute> {
  try {
    return await execute(command, input);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new NftError('NotInstalled', 'the program nft is not installed', { cause: error });
  }
}

/**
 * Returns the reason why this process cannot program nftables; undefined if it can. Changes
 * nothing.
 *
 * @param commands the intended commands with an unused table name: that an existing table is
 * there proves nothing
 */
export async function obstacleToNft(nft: Nft, commands: string): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'it needs Linux';
  if (process.getuid?.() !== 0) return 'it needs root';
  try {
    return (await nft.check(commands))?.detail;
  } catch (error) {
    if (error instanceof NftError) return error.detail;
    throw error;
  }
}

/** Returns the commands that remove a table, whether or not it exists. */
export const removalOf = ({ family, name }: NftTable): string =>
  `add table ${family} ${name}\ndelete table ${family} ${name}\n`;
