// Upstream's programs that `npm run versus` compares with, built once from their published Go
// modules.

import {
  ensureCommand,
  ensureEtcd,
  etcdVersion,
  requiredVersion,
} from '../../test/conformance/binaries.ts';

/** Paths of the programs. */
export interface Programs {
  readonly etcd: string;
  readonly apiServer: string;
  readonly controllerManager: string;
  readonly scheduler: string;
  /** The versions of Kubernetes and of etcd, such as v1.36.3. */
  readonly versions: { readonly kubernetes: string; readonly etcd: string };
}

/**
 * Builds the missing programs, which takes some minutes. Throws a UserError if Go is missing or a
 * build fails.
 */
export function ensurePrograms(progress: (text: string) => void): Programs {
  const command = (name: string): string => ensureCommand(name, progress);
  return {
    etcd: ensureEtcd(progress),
    apiServer: command('kube-apiserver'),
    controllerManager: command('kube-controller-manager'),
    scheduler: command('kube-scheduler'),
    versions: { kubernetes: requiredVersion(), etcd: etcdVersion() },
  };
}
