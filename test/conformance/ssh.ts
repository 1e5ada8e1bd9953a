// Lets the suite log in to machines by SSH, as root, with a key that is made for the run.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '#cluster/machine/install.ts';
import { UserError } from '#cluster/user-error.ts';
import { run } from './cable.ts';
import type { Machine, OnMachine } from './machines.ts';
import { type RunningRole, startProgram } from './role.ts';

/** The files of private keys; that of the public key ends with '.pub'. */
export interface SshKeys {
  readonly clientKey: string;
  /** All machines identify themselves by the same key. */
  readonly hostKey: string;
}

/** The packages of programs that tests call on a machine. */
const PROGRAMS = { sshd: 'openssh-server', sudo: 'sudo', pgrep: 'procps', curl: 'curl' };

/** Throws a UserError if a program is missing. */
export function makeKeys(dir: string): SshKeys {
  for (const [program, name] of Object.entries(PROGRAMS)) {
    if (findProgram(program) === undefined)
      throw new UserError(`tests that log in to nodes need ${program}: apt-get install ${name}`);
  }
  mkdirSync(dir, { recursive: true });
  const make = (name: string): string => {
    const file = join(dir, name);
    run('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', file);
    return file;
  };
  return { clientKey: make('client'), hostKey: make('host') };
}

/** Returns the configuration of the server of a machine. */
export const sshdSettings = ({ address }: Machine, { clientKey, hostKey }: SshKeys): string =>
  [
    `ListenAddress ${address}`,
    `HostKey ${hostKey}`,
    `AuthorizedKeysFile ${clientKey}.pub`,
    'PermitRootLogin prohibit-password',
    'PasswordAuthentication no',
    'UsePAM no',
    'StrictModes no',
    'PidFile none',
    'MaxStartups 100',
    '',
  ].join('\n');

interface SshdConfig {
  readonly machine: Machine;
  readonly inside: OnMachine;
  readonly keys: SshKeys;
  /** A directory for its files. */
  readonly dir: string;
  readonly logFile: string;
}

/** Resolves when the server listens at the machine's address. */
export async function startSshd(config: SshdConfig): Promise<RunningRole> {
  const { machine, inside, keys, dir, logFile } = config;
  const { node } = machine;
  const settings = join(dir, `${node}-sshd`);
  writeFileSync(settings, sshdSettings(machine, keys));
  // The directory of sshd's unprivileged part, which its service makes on a machine with systemd.
  mkdirSync('/run/sshd', { recursive: true });
  const program = findProgram('sshd') ?? 'sshd';
  return await startProgram(
    `${node} sshd`,
    inside([program, '-D', '-e', '-f', settings]),
    (line) => line.startsWith('Server listening on'),
    logFile,
  );
}
