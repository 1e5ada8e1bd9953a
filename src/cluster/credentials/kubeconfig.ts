// Writes kubeconfig files: one of our own under the data directory, and, only when asked, an entry in the user's.

import { existsSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { parse, stringify } from 'yaml';
import { writeDurableFile } from '#machinery/files/durable-file.ts';
import { normalizedPrivateKey } from './private-key.ts';
import { UserError } from '../user-error.ts';

export interface KubeconfigEntry {
  /** Name of the cluster, user and context. */
  readonly name: string;
  readonly server: string;
  /** PEM. */
  readonly caCertificate: string;
  /** PEM. */
  readonly clientCertificate: string;
  /** PEM in any form. It is written in SEC1 form. */
  readonly clientKey: string;
}

interface Named {
  readonly name: string;
}

interface Kubeconfig {
  apiVersion?: string;
  kind?: string;
  clusters?: Named[] | null;
  users?: Named[] | null;
  contexts?: Named[] | null;
  'current-context'?: string;
  [key: string]: unknown;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A whole kubeconfig with one context, as YAML. */
export function kubeconfigFor(entry: KubeconfigEntry): string {
  return stringify(merged({}, entry.name, clusterOf(entry), userOf(entry)));
}

/** Writes a kubeconfig of our own (mode 0600), replacing what was there. */
export function writeKubeconfig(path: string, entry: KubeconfigEntry): void {
  write(path, kubeconfigFor(entry));
}

export interface KubeconfigOfFiles {
  readonly server: string;
  /** A file with the client certificate and its key. */
  readonly certificate: string;
  /** The file of the certificate authority, or its certificate in PEM. */
  readonly caFile?: string;
  readonly ca?: string;
  readonly insecureSkipTlsVerify?: boolean;
  readonly tlsServerName?: string;
}

/**
 * Writes the kubeconfig of a kubelet whose certificate is in a file of its own (mode 0600), with the
 * names that upstream's kubelet gives its parts.
 */
export function writeKubeconfigOfFiles(path: string, config: KubeconfigOfFiles): void {
  const { server, certificate, caFile, ca, insecureSkipTlsVerify, tlsServerName } = config;
  const context = { cluster: 'default-cluster', namespace: 'default', user: 'default-auth' };
  const cluster = {
    ...(caFile !== undefined && { 'certificate-authority': caFile }),
    ...(caFile === undefined && ca !== undefined && { 'certificate-authority-data': base64(ca) }),
    ...(insecureSkipTlsVerify === true && { 'insecure-skip-tls-verify': true }),
    ...(tlsServerName !== undefined && { 'tls-server-name': tlsServerName }),
    server,
  };
  const user = { 'client-certificate': certificate, 'client-key': certificate };
  write(
    path,
    stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'default-cluster', cluster }],
      users: [{ name: 'default-auth', user }],
      contexts: [{ name: 'default-context', context }],
      'current-context': 'default-context',
    }),
  );
}

/**
 * Adds or replaces the entry in a kubeconfig that belongs to the user, keeps everything else, and makes it the
 * current context. Throws if the file is there and is not a kubeconfig.
 */
export function mergeKubeconfig(path: string, entry: KubeconfigEntry): void {
  mergeInto(path, entry.name, clusterOf(entry), userOf(entry));
}

function mergeInto(path: string, name: string, cluster: Named, user: Named): void {
  let existing: Kubeconfig = {};
  if (existsSync(path)) {
    const parsed: unknown = parse(readFileSync(path, 'utf8'));
    if (parsed !== null && (typeof parsed !== 'object' || Array.isArray(parsed))) {
      throw new Error(`${path} is not a kubeconfig file; it was left as it is`);
    }
    existing = (parsed ?? {}) as Kubeconfig;
  }
  write(path, stringify(merged(existing, name, cluster, user)));
}

/**
 * Adds the first cluster, user and context of a kubeconfig of our own to one that belongs to the user, under `name`
 * (default: its own), and makes it the current context. Returns the name. Throws UserError if one of the files is no
 * kubeconfig, or if both are the same.
 */
export function mergeKubeconfigFile(path: string, own: string, name?: string): string {
  if (existsSync(path) && realpathSync(path) === realpathSync(own))
    throw new UserError(`${path} is this kubeconfig already: is KUBECONFIG set to it?`);
  const source = readOwn(own);
  const { [0]: cluster } = source.clusters ?? [];
  const { [0]: user } = source.users ?? [];
  if (cluster === undefined || user === undefined)
    throw new UserError(`${own} has no cluster or no user`);
  const chosen = name ?? cluster.name;
  try {
    mergeInto(path, chosen, { ...cluster, name: chosen }, { ...user, name: chosen });
  } catch (error) {
    throw new UserError((error as Error).message, { cause: error });
  }
  return chosen;
}

function readOwn(path: string): Kubeconfig {
  const parsed: unknown = parse(readFileSync(path, 'utf8'));
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new UserError(`${path} is not a kubeconfig file`);
  return parsed as Kubeconfig;
}

function merged(existing: Kubeconfig, name: string, cluster: Named, user: Named): Kubeconfig {
  const put = (list: Named[] | null | undefined, item: Named): Named[] => [
    ...(list ?? []).filter((other) => other.name !== item.name),
    item,
  ];
  return {
    ...existing,
    apiVersion: 'v1',
    kind: 'Config',
    clusters: put(existing.clusters, cluster),
    users: put(existing.users, user),
    contexts: put(existing.contexts, { name, context: { cluster: name, user: name } } as Named),
    'current-context': name,
  };
}

const clusterOf = ({ name, server, caCertificate }: KubeconfigEntry): Named =>
  ({ name, cluster: { server, 'certificate-authority-data': base64(caCertificate) } }) as Named;

const userOf = ({ name, clientCertificate, clientKey }: KubeconfigEntry): Named =>
  ({
    name,
    user: {
      'client-certificate-data': base64(clientCertificate),
      'client-key-data': base64(normalizedPrivateKey(clientKey)),
    },
  }) as Named;

/** Writes the file durably, through a symbolic link if the path is one. */
function write(path: string, contents: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeDurableFile(existsSync(path) ? realpathSync(path) : path, contents);
}
