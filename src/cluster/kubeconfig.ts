// Writes kubeconfig files: one of our own under the data directory, and, only when asked, an entry in the user's.

import { existsSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { parse, stringify } from 'yaml';
import { writeDurableFile } from '#machinery/files/durable-file.ts';
import { normalizedPrivateKey } from './private-key.ts';

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
  return stringify(merged({}, entry));
}

/** Writes a kubeconfig of our own (mode 0600), replacing what was there. */
export function writeKubeconfig(path: string, entry: KubeconfigEntry): void {
  write(path, kubeconfigFor(entry));
}

/**
 * Adds or replaces the entry in a kubeconfig that belongs to the user, keeps everything else, and
 * makes it the current context. Throws if the file is there and is not a kubeconfig.
 */
export function mergeKubeconfig(path: string, entry: KubeconfigEntry): void {
  let existing: Kubeconfig = {};
  if (existsSync(path)) {
    const parsed: unknown = parse(readFileSync(path, 'utf8'));
    if (parsed !== null && (typeof parsed !== 'object' || Array.isArray(parsed))) {
      throw new Error(`${path} is not a kubeconfig file; it was left as it is`);
    }
    existing = (parsed ?? {}) as Kubeconfig;
  }
  write(path, stringify(merged(existing, entry)));
}

function merged(existing: Kubeconfig, entry: KubeconfigEntry): Kubeconfig {
  const put = (list: Named[] | null | undefined, item: Named): Named[] => [
    ...(list ?? []).filter((other) => other.name !== item.name),
    item,
  ];
  const { name } = entry;
  return {
    ...existing,
    apiVersion: 'v1',
    kind: 'Config',
    clusters: put(existing.clusters, {
      name,
      cluster: { server: entry.server, 'certificate-authority-data': base64(entry.caCertificate) },
    } as Named),
    users: put(existing.users, {
      name,
      user: {
        'client-certificate-data': base64(entry.clientCertificate),
        'client-key-data': base64(normalizedPrivateKey(entry.clientKey)),
      },
    } as Named),
    contexts: put(existing.contexts, { name, context: { cluster: name, user: name } } as Named),
    'current-context': name,
  };
}

/** Writes the file durably, through a symbolic link if the path is one. */
function write(path: string, contents: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeDurableFile(existsSync(path) ? realpathSync(path) : path, contents);
}
