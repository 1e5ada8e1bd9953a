// Upstream's programs, built once from their published Go modules.

import { ensureCommand, ensureCoredns, ensureEtcd } from '../conformance/binaries.ts';
import type { Role } from './roles.ts';

export interface SwapPrograms {
  readonly etcd: string;
  readonly upstream: Readonly<Record<Role, string>>;
}

/**
 * Builds the missing programs, which takes some minutes each. Throws a UserError if Go is missing
 * or a build fails.
 */
export function ensureSwapPrograms(progress: (text: string) => void): SwapPrograms {
  const command = (name: string): string => ensureCommand(name, progress);
  return {
    etcd: ensureEtcd(progress),
    upstream: {
      apiserver: command('kube-apiserver'),
      'controller-manager': command('kube-controller-manager'),
      scheduler: command('kube-scheduler'),
      kubelet: command('kubelet'),
      proxy: command('kube-proxy'),
      dns: ensureCoredns(progress),
    },
  };
}
