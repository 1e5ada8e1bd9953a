// `cox kubeconfig`: prints the kubeconfig of a data directory, or adds it to the user's own.

import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { dataDirLayout } from '#cluster/data-dir/data-dir.ts';
import { mergeKubeconfigFile } from '#cluster/credentials/kubeconfig.ts';
import { kubeconfigForUser } from '#cluster/credentials/user-kubeconfig.ts';
import { UserError } from '#cluster/user-error.ts';
import { printable } from '#machinery/text/printable.ts';
import { parseYaml } from '#api/machinery/codec/index.ts';
import { shortest } from '../terminal.ts';
import { type OutputFlags, writeJson } from './output.ts';

export interface KubeconfigFlags extends OutputFlags {
  readonly dataDir: string;
  readonly merge?: boolean;
  /** Name of the cluster, user and context in the user's kubeconfig. */
  readonly name?: string;
  /** With these, the kubeconfig of another user, with a certificate of its own. */
  readonly user?: string;
  readonly group?: readonly string[];
}

/** The file into which entries are merged: the first of KUBECONFIG, otherwise that of the home directory. */
export function userKubeconfigPath(environment: NodeJS.ProcessEnv = process.env): string {
  const [first] = (environment['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '');
  return first ?? join(homedir(), '.kube', 'config');
}

export async function kubeconfig(flags: KubeconfigFlags): Promise<void> {
  const { kubeconfig: own, root } = dataDirLayout(flags.dataDir);
  if (!existsSync(own))
    throw new UserError(
      `there is no kubeconfig in ${shortest(root)}: 'cox up --data-dir ${shortest(root)}' makes it`,
    );
  if (flags.user !== undefined || flags.group !== undefined) return forUser(flags);
  if (flags.merge !== true) {
    if (flags.name !== undefined) throw new UserError('--name needs --merge');
    print(readFileSync(own, 'utf8'), flags);
    return;
  }
  const path = userKubeconfigPath();
  const context = mergeKubeconfigFile(path, own, flags.name);
  if (flags.output === 'json') return writeJson({ file: path, context });
  process.stdout.write(
    `the context ${context} is in ${shortest(path)}, and is the current one: kubectl get nodes\n`,
  );
}

/** Prints a kubeconfig. kubectl reads JSON as well. */
function print(text: string, { output }: OutputFlags): void {
  if (output === 'json') writeJson(parseYaml(text));
  else process.stdout.write(text);
}

async function forUser(flags: KubeconfigFlags): Promise<void> {
  const { dataDir, user, group = [], merge, name } = flags;
  if (user === undefined) throw new UserError('--group needs --user');
  if (merge === true || name !== undefined)
    throw new UserError('--user prints a kubeconfig to give away: it goes without --merge');
  print(await kubeconfigForUser(dataDir, user, group), flags);
  process.stderr.write(
    `this certificate is valid for a year and cannot be revoked: permissions of ${printable(user)} can\n`,
  );
}
