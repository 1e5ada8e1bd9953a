// Reads kubeconfig files: the server, its certificate authority, and the credentials of the user.
// Not supported, and rejected by name: auth providers (which client-go has removed, too), and
// proxies.

import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import { systemClock, type Clock } from '#machinery/clock.ts';
import { ExecCredentials, ExecCredentialsError, type ExecCluster } from './credentials/exec.ts';
import { TokenFile } from './credentials/token-file.ts';
import type { ServerAccess } from './http/index.ts';

/** A problem with a kubeconfig. The message is for the user. */
export class KubeconfigError extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'KubeconfigError';
  }
}

/** Nothing names a cluster: no option, no KUBECONFIG, no file in the user's home, no pod. */
export class NoKubeconfigError extends KubeconfigError {
  override readonly name = 'NoKubeconfigError';
}

export interface KubeconfigContext extends ServerAccess {
  readonly contextName: string;
  /** The namespace of the context; 'default' if it has none. */
  readonly namespace: string;
}

/** The absolute paths of parts that are in files of their own. */
export interface KubeconfigFiles {
  readonly ca?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
}

export interface LoadKubeconfigOptions {
  /** Default: the file's current-context. */
  readonly context?: string;
  /**
   * Determines when tokens are read again, and when credentials of a program expire. Default: the
   * system clock.
   */
  readonly clock?: Clock;
}

interface Named<V> {
  readonly name: string;
  readonly value: V;
  /** The directory for relative paths in the file. */
  readonly folder: string;
}

type Section = Readonly<Record<string, unknown>>;

/**
 * Loads a context. `paths`: files as in KUBECONFIG; the first definition of a name wins. Missing
 * files are skipped, unless it is the only one. Rejects with KubeconfigError.
 */
export async function loadKubeconfig(
  paths: string | readonly string[],
  options: LoadKubeconfigOptions = {},
): Promise<KubeconfigContext> {
  return (await loadKubeconfigParts(paths, options)).context;
}

/** Loads a context as `loadKubeconfig` does, for programs that write some of its files. */
export async function loadKubeconfigParts(
  paths: string | readonly string[],
  options: LoadKubeconfigOptions = {},
): Promise<{ readonly context: KubeconfigContext; readonly files: KubeconfigFiles }> {
  const files = typeof paths === 'string' ? [paths] : paths;
  const configs: { readonly path: string; readonly content: Section }[] = [];
  for (const path of files) {
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      if (files.length > 1 && (error as NodeJS.ErrnoException).code === 'ENOENT') continue;
      throw new KubeconfigError(`cannot read the kubeconfig ${path}: ${(error as Error).message}`, {
        cause: error,
      });
    }
    configs.push({ path, content: parseKubeconfig(text, path) });
  }
  const current = configs
    .map(({ content }) => content['current-context'])
    .find((name) => typeof name === 'string' && name !== '');
  const name = options.context ?? current;
  if (typeof name !== 'string')
    throw new KubeconfigError(
      `${files.join(', ')}: there is no current-context, and no context was specified`,
    );
  const find = (list: string, key: string, wanted: string): Named<Section> => {
    for (const { path, content } of configs) {
      const entry = named(content, list, key, path).find((each) => each.name === wanted);
      if (entry !== undefined) return entry;
    }
    throw new KubeconfigError(
      `${files.join(', ')}: there is no ${key} named ${JSON.stringify(wanted)}`,
    );
  };
  const context = find('contexts', 'context', name).value;
  const cluster = find('clusters', 'cluster', text(context, 'cluster') ?? '');
  const userName = text(context, 'user');
  const user = userName ? find('users', 'user', userName) : undefined;
  const access = await readCluster(cluster);
  const clock = options.clock ?? systemClock;
  return {
    context: {
      contextName: name,
      namespace: text(context, 'namespace') || 'default',
      ...access,
      ...(user !== undefined && (await readUser(user, access, clock))),
    },
    files: filesOf(cluster, user),
  };
}

/** The credentials of a user, without a server. */
export type KubeconfigUser = Omit<ServerAccess, 'server' | 'ca' | 'tlsServerName'>;

export interface KubeconfigUsers {
  readonly users: ReadonlyMap<string, KubeconfigUser>;
  /** The user of the current context. Absent: there is none. */
  readonly current?: string;
}

/** Loads all users of a file, for programs that choose one by the server. Rejects with KubeconfigError. */
export async function loadKubeconfigUsers(
  path: string,
  clock: Clock = systemClock,
): Promise<KubeconfigUsers> {
  let source: string;
  try {
    source = await readFile(path, 'utf8');
  } catch (error) {
    throw new KubeconfigError(`cannot read the kubeconfig ${path}: ${(error as Error).message}`, {
      cause: error,
    });
  }
  const content = parseKubeconfig(source, path);
  const users = new Map<string, KubeconfigUser>();
  for (const user of named(content, 'users', 'user', path))
    users.set(user.name, await readUser(user, { server: '' }, clock));
  const context = named(content, 'contexts', 'context', path).find(
    ({ name }) => name === content['current-context'],
  );
  const current = context && text(context.value, 'user');
  return { users, ...(current !== undefined && { current }) };
}

function filesOf(cluster: Named<Section>, user: Named<Section> | undefined): KubeconfigFiles {
  const ca = fileOf(cluster, 'certificate-authority');
  const clientCertificate = user && fileOf(user, 'client-certificate');
  const clientKey = user && fileOf(user, 'client-key');
  return {
    ...(ca !== undefined && { ca }),
    ...(clientCertificate !== undefined && { clientCertificate }),
    ...(clientKey !== undefined && { clientKey }),
  };
}

/** Returns the path that `key` names, unless the section has the content itself. */
function fileOf({ value, folder }: Named<Section>, key: string): string | undefined {
  const file = text(value, `${key}-data`) ? undefined : text(value, key);
  return file ? resolve(folder, file) : undefined;
}

function parseKubeconfig(source: string, path: string): Section {
  let content: unknown;
  try {
    content = parse(source, { version: '1.1' });
  } catch (error) {
    throw new KubeconfigError(`${path} is not YAML: ${(error as Error).message}`, { cause: error });
  }
  if (content === null) return {};
  if (typeof content !== 'object' || Array.isArray(content))
    throw new KubeconfigError(`${path} is not a kubeconfig`);
  return content as Section;
}

function named(content: Section, list: string, key: string, path: string): Named<Section>[] {
  const entries = content[list];
  if (!Array.isArray(entries)) return [];
  return entries.flatMap((entry: Section) => {
    // An entry without content is empty, such as a user without credentials.
    const value = entry?.[key] ?? {};
    if (typeof entry?.['name'] !== 'string' || typeof value !== 'object') return [];
    return [{ name: entry['name'], value: value as Section, folder: dirname(resolve(path)) }];
  });
}

async function readCluster({ name, value, folder }: Named<Section>) {
  const server = text(value, 'server');
  if (!server) throw new KubeconfigError(`the cluster ${name} has no server`);
  if (text(value, 'proxy-url'))
    throw new KubeconfigError(`the cluster ${name} has a proxy-url, which is not supported`);
  const tlsServerName = text(value, 'tls-server-name');
  const ca = await dataOrFile(value, 'certificate-authority', folder);
  return {
    server,
    ...(ca !== undefined && { ca }),
    ...(value['insecure-skip-tls-verify'] === true && { insecureSkipTlsVerify: true }),
    ...(tlsServerName && { tlsServerName }),
  };
}

async function readUser(
  { name, value, folder }: Named<Section>,
  cluster: ServerAccess,
  clock: Clock,
) {
  if (value['auth-provider']) {
    throw new KubeconfigError(
      `the user ${name} gets credentials by auth-provider, which is not supported`,
    );
  }
  const clientCertificate = await dataOrFile(value, 'client-certificate', folder);
  const clientKey = await dataOrFile(value, 'client-key', folder);
  const tokenFile = text(value, 'tokenFile');
  const token = text(value, 'token');
  const username = text(value, 'username');
  const user = text(value, 'as');
  const uid = text(value, 'as-uid');
  const exec = value['exec'];
  return {
    ...(clientCertificate !== undefined && { clientCertificate }),
    ...(clientKey !== undefined && { clientKey }),
    // The file takes precedence over the token, since the file is rotated.
    ...(tokenFile
      ? { credentials: new TokenFile({ path: resolve(folder, tokenFile), clock }) }
      : token && { token }),
    ...(exec
      ? { credentials: execCredentials(name, exec as Section, folder, cluster, clock) }
      : undefined),
    ...(username && { basic: { username, password: text(value, 'password') ?? '' } }),
    ...(user && {
      impersonate: {
        user,
        ...(uid && { uid }),
        groups: (value['as-groups'] as string[] | undefined) ?? [],
        extra: (value['as-user-extra'] as Record<string, string[]> | undefined) ?? {},
      },
    }),
  };
}

function execCredentials(
  user: string,
  exec: Section,
  folder: string,
  cluster: ServerAccess,
  clock: Clock,
): ExecCredentials {
  const command = text(exec, 'command');
  if (!command) throw new KubeconfigError(`the user ${user}: exec has no command`);
  const apiVersion = text(exec, 'apiVersion') ?? '';
  const interactiveMode = text(exec, 'interactiveMode');
  if (!interactiveMode && apiVersion === 'client.authentication.k8s.io/v1') {
    throw new KubeconfigError(
      `the user ${user}: interactiveMode must be specified to use exec authentication plugin`,
    );
  }
  if (interactiveMode && !['Never', 'IfAvailable', 'Always'].includes(interactiveMode)) {
    throw new KubeconfigError(
      `the user ${user}: the interactiveMode of exec must be Never, IfAvailable or Always`,
    );
  }
  const args = listOf(exec['args'], (arg): arg is string => typeof arg === 'string');
  const env = listOf(
    exec['env'],
    (entry): entry is { name: string; value: string } =>
      typeof entry === 'object' &&
      entry !== null &&
      typeof (entry as { name?: unknown }).name === 'string',
  );
  if (args === undefined || env === undefined)
    throw new KubeconfigError(`the user ${user}: args or env of exec is not valid`);
  const { server, ca, insecureSkipTlsVerify, tlsServerName } = cluster;
  const info: ExecCluster = {
    server,
    ...(tlsServerName !== undefined && { 'tls-server-name': tlsServerName }),
    ...(insecureSkipTlsVerify === true && { 'insecure-skip-tls-verify': true }),
    ...(ca !== undefined && { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
  };
  try {
    return new ExecCredentials({
      apiVersion,
      // As in kubectl, a path with a slash is relative to the kubeconfig, and a bare name is looked
      // up in PATH.
      command: command.includes('/') ? resolve(folder, command) : command,
      args,
      env: env.map((entry) => ({ name: entry.name, value: entry.value ?? '' })),
      installHint: text(exec, 'installHint'),
      ...(exec['provideClusterInfo'] === true && { cluster: info }),
      interactiveMode: interactiveMode as 'Never' | 'IfAvailable' | 'Always' | undefined,
      clock,
    });
  } catch (error) {
    if (error instanceof ExecCredentialsError)
      throw new KubeconfigError(`the user ${user}: ${error.message}`, { cause: error });
    throw error;
  }
}

/**
 * Returns the list if every item has the expected type, [] for an absent value, undefined for any
 * other value.
 */
function listOf<T>(value: unknown, isItem: (item: unknown) => item is T): readonly T[] | undefined {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) && value.every(isItem) ? value : undefined;
}

/** Returns the content of `key-data` (base64) or of the file that `key` names. */
async function dataOrFile(
  section: Section,
  key: string,
  folder: string,
): Promise<string | undefined> {
  const data = text(section, `${key}-data`);
  if (data) return Buffer.from(data, 'base64').toString('utf8');
  const file = text(section, key);
  if (!file) return undefined;
  try {
    return await readFile(resolve(folder, file), 'utf8');
  } catch (error) {
    throw new KubeconfigError(`cannot read the ${key} ${file}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function text(section: Section, key: string): string | undefined {
  const value = section[key];
  return typeof value === 'string' ? value : undefined;
}
