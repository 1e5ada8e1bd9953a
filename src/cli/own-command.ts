// Computes how the user can type the commands in messages: 'cox' if it is on PATH, otherwise 'npx
// cox' or the path of the script.

import { realpathSync } from 'node:fs';
import { delimiter, join, sep } from 'node:path';
import { shortest } from './terminal.ts';

export interface Invocation {
  /** The script that runs: bin/cox.js of a checkout or an installed package. */
  readonly script: string;
  /** The environment's PATH. */
  readonly path: string;
  /** Returns the file that a path leads to; undefined if there is none. Default: asks the file system. */
  readonly realpath?: (path: string) => string | undefined;
}

const IN_PACKAGES = join('node_modules', '.bin');

/** Returns the words to type in place of `cox`. */
export function ownCommand({ script, path, realpath = existing }: Invocation): string {
  const own = realpath(script);
  if (own === undefined) return 'cox';
  const folders = path
    .split(delimiter)
    .filter((folder) => folder !== '' && realpath(join(folder, 'cox')) === own);
  // npm and npx put these folders on PATH for what they run: the user's shell does not have them.
  if (folders.some((folder) => !folder.endsWith(IN_PACKAGES))) return 'cox';
  if (folders.length > 0 || script.endsWith(join(IN_PACKAGES, 'cox'))) return 'npx cox';
  return own.includes(`${sep}node_modules${sep}`) ? 'npx cox' : shortest(own);
}

function existing(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    // No such file.
    return undefined;
  }
}

/** Every command of the program. */
export const COMMANDS: readonly string[] = (
  'up down reset snapshot compile certs completion envtest version apiserver ' +
  'controller-manager scheduler kubelet proxy dns ingress csi-driver runtime console status why top logs kubeconfig ' +
  'image doctor rolling-update simulate'
).split(' ');
/**
 * The command where a text names it to be typed: in quotes, after a prompt, `&&`, `$(`, `<(`, `sudo` and
 * a colon.
 */
const NAMED = new RegExp(
  `(?<=['\`]|\\$ |&& |: |[$<]\\(|sudo )cox (?=(?:${COMMANDS.join('|')})\\b)`,
  'g',
);

/** Returns a message with its commands as they can be typed. */
export function typed(text: string, own: string = command()): string {
  return own === 'cox' ? text : text.replaceAll(NAMED, `${own} `);
}

let found: string | undefined;

function command(): string {
  found ??= ownCommand({ script: process.argv[1] ?? '', path: process.env['PATH'] ?? '' });
  return found;
}
