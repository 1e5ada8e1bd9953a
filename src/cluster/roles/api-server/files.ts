// The files that an API server's flags name: keys, tokens, certificates. Every problem is a
// UserError that names the flag.

import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { tokenKeysOf } from '#machinery/token-keys.ts';
import type { UserInfo } from '#apiserver/request.ts';
import type { Clock } from '#machinery/clock.ts';
import { writeDurableFile } from '#machinery/files/durable-file.ts';
import type { Random } from '#machinery/random.ts';
import { type KeyPair, Pki } from '../../credentials/pki.ts';
import { UserError } from '../../user-error.ts';
import { readFlagFile } from '../../flags/flag-files.ts';

/** Reads files that flags name, or that a directory has under the name that `cox certs` gives them. */
export class CertificateFiles {
  readonly #dir: string | undefined;

  constructor(dir: string | undefined) {
    this.#dir = dir === undefined ? undefined : resolve(dir);
  }

  /** Returns the text of the file; undefined if no flag names it and the directory has none. */
  optional(flag: string, path: string | undefined, name: string): string | undefined {
    if (path !== undefined && path !== '') return readFlagFile(`--${flag}`, resolve(path));
    const inDir = this.#dir === undefined ? undefined : join(this.#dir, name);
    return inDir !== undefined && existsSync(inDir)
      ? readFlagFile(`--cert-dir (for --${flag})`, inDir)
      : undefined;
  }

  required(flag: string, path: string | undefined, name: string): string {
    const text = this.optional(flag, path, name);
    if (text === undefined)
      throw new UserError(
        `--${flag} is needed, or --cert-dir with ${name} in it (see cox certs init)`,
      );
    return text;
  }

  /** Returns a certificate and its key; undefined if there is neither. */
  pair(
    flags: { readonly cert: string; readonly key: string },
    paths: { readonly cert: string | undefined; readonly key: string | undefined },
    name: string,
  ): KeyPair | undefined {
    if ((paths.cert === undefined) !== (paths.key === undefined)) {
      throw new UserError(
        `--${flags.cert} and --${flags.key} belong together: give both or neither`,
      );
    }
    const cert = this.optional(flags.cert, paths.cert, `${name}.crt`);
    const key = this.optional(flags.key, paths.key, `${name}.key`);
    if (cert === undefined && key === undefined) return undefined;
    if (cert === undefined || key === undefined) {
      throw new UserError(`--cert-dir: of ${name}.crt and ${name}.key only one is in ${this.#dir}`);
    }
    return { cert, key };
  }

  /**
   * Makes a serving certificate with an authority of its own, as upstream does in an empty
   * --cert-dir. It is written to the directory if there is one: clients need the authority's
   * certificate, the second in apiserver.crt.
   */
  async makeServing(hosts: readonly string[], clock: Clock, random: Random): Promise<KeyPair> {
    const pki = await Pki.open({ clock, random });
    const { cert, key } = await pki.sign({
      commonName: 'kube-apiserver',
      usage: 'server',
      hosts: [...new Set(hosts)],
    });
    const pair = { cert: cert + pki.caCertificate, key };
    if (this.#dir !== undefined) {
      try {
        mkdirSync(this.#dir, { recursive: true, mode: 0o755 });
        writeDurableFile(join(this.#dir, 'apiserver.key'), pair.key, { mode: 0o600 });
        writeDurableFile(join(this.#dir, 'apiserver.crt'), pair.cert, { mode: 0o644 });
      } catch (error) {
        throw new UserError(`--cert-dir: ${(error as Error).message}`, { cause: error });
      }
    }
    return pair;
  }
}

/** Returns the texts of the files; each may hold several keys. */
export function readAccountKeys(files: readonly string[]): readonly string[] {
  return files.map((file) => {
    const text = readFlagFile('--service-account-key-file', resolve(file));
    checkKeys(`--service-account-key-file: ${file}`, () => tokenKeysOf(text));
    return text;
  });
}

/** Runs something that reads keys, and names the flag in its error. */
export function checkKeys(flag: string, read: () => unknown): void {
  try {
    read();
  } catch (error) {
    throw new UserError(`${flag}: the key cannot be used: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Reads the file of --token-auth-file: lines of token, user, uid and, in quotes, groups with commas between them. */
export function readTokenFile(file: string): ReadonlyMap<string, UserInfo> {
  const tokens = new Map<string, UserInfo>();
  const text = readFlagFile('--token-auth-file', resolve(file));
  text.split(/\r?\n/).forEach((line, index) => {
    if (line.trim() === '' || line.startsWith('#')) return;
    const columns = csvColumns(line);
    const [token = '', name = '', uid = '', groups = ''] = columns ?? [];
    if (columns === undefined || columns.length < 3 || token === '' || name === '') {
      throw new UserError(
        `--token-auth-file: ${file}, line ${index + 1}: it takes a token, a user's name and ` +
          'a uid: token,user,uid,"group1,group2"',
      );
    }
    const names = groups
      .split(',')
      .map((group) => group.trim())
      .filter((group) => group !== '');
    tokens.set(token, { name, uid, groups: names });
  });
  return tokens;
}

/** The columns of a line of comma-separated values (RFC 4180); undefined if its quotes are wrong. */
function csvColumns(line: string): readonly string[] | undefined {
  const columns: string[] = [];
  const column = /\s*(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;
  for (;;) {
    const match = column.exec(line);
    if (match === null) return undefined;
    columns.push(match[1]?.replaceAll('""', '"') ?? (match[2] as string).trim());
    if (match[3] === '') return columns;
  }
}
