// Which cluster a command asks, and errors of the connection in words for users.

import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { connect, type Connection } from '#client/connect.ts';
import { KubeconfigError, NoKubeconfigError } from '#client/kubeconfig.ts';
import { dataDirLayout, isDataDir } from '#cluster/data-dir/data-dir.ts';
import { UserError } from '#cluster/user-error.ts';
import { COXSWAIN_VERSION } from '#cluster/version.ts';
import { StatusError } from '#machinery/apierrors.ts';
import { DEFAULT_DATA_DIR } from '../flags.ts';
import { shortest } from '../terminal.ts';

export interface ConnectionFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly dataDir?: string;
}

/** Adds the flags that choose a cluster. */
export function withConnectionFlags(
  command: Command,
  dataDirHelp = 'ask the cluster of this data directory (default: .coxswain, if KUBECONFIG is not set)',
): Command {
  return command
    .option('--data-dir <dir>', dataDirHelp)
    .option('--kubeconfig <file>', 'ask the cluster of this kubeconfig')
    .option('--context <name>', 'the context of the kubeconfig (default: its current-context)');
}

/**
 * Returns the kubeconfig to use: of the flags, of KUBECONFIG, or of the data directory here. Undefined: as a pod, or
 * that of the user's home. Throws UserError for a data directory without one.
 */
export function kubeconfigOf(
  { kubeconfig, dataDir }: ConnectionFlags,
  environment: NodeJS.ProcessEnv = process.env,
): string | undefined {
  if (kubeconfig !== undefined && dataDir !== undefined)
    throw new UserError('--kubeconfig and --data-dir exclude each other');
  if (kubeconfig !== undefined) return kubeconfig;
  if (dataDir !== undefined) {
    const layout = dataDirLayout(dataDir);
    if (existsSync(layout.kubeconfig)) return layout.kubeconfig;
    throw new UserError(
      `there is no kubeconfig in ${shortest(layout.root)}: ` +
        `'cox up --data-dir ${shortest(layout.root)}' makes it, or name another with --kubeconfig`,
    );
  }
  if (environment['KUBECONFIG']) return undefined;
  const here = dataDirLayout(DEFAULT_DATA_DIR);
  return isDataDir(here) && existsSync(here.kubeconfig) ? here.kubeconfig : undefined;
}

/**
 * Connects, runs the command and closes the connection. Errors of the server and of the kubeconfig become UserErrors.
 */
export async function withConnection<T>(
  flags: ConnectionFlags,
  run: (connection: Connection) => Promise<T>,
): Promise<T> {
  const kubeconfig = kubeconfigOf(flags);
  let connection: Connection | undefined;
  try {
    connection = await connect({
      userAgent: `cox/${COXSWAIN_VERSION}`,
      ...(kubeconfig !== undefined && { kubeconfig }),
      ...(flags.context !== undefined && { context: flags.context }),
    });
    return await run(connection);
  } catch (error) {
    throw connectionError(error, connection?.server);
  } finally {
    connection?.close();
  }
}

function connectionError(error: unknown, server = 'the API server'): unknown {
  if (error instanceof NoKubeconfigError)
    return new UserError(
      `there is no cluster in ${DEFAULT_DATA_DIR}: 'cox up' starts one; or name another with --data-dir, ` +
        '--kubeconfig or KUBECONFIG',
      { cause: error },
    );
  if (error instanceof KubeconfigError) return new UserError(error.message, { cause: error });
  if (!(error instanceof StatusError)) return error;
  const unreachable = error.code === 503 && error.cause !== undefined;
  const text = unreachable
    ? `${server} cannot be reached: ${error.message}. Is the cluster running? See 'cox up' and --kubeconfig`
    : error.code === 401
      ? `${server} does not accept the credentials of the kubeconfig`
      : error.message;
  return new UserError(text, { cause: error });
}
