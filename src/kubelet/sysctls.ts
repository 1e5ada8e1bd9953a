// The kernel parameters that pods may set: safe ones, which concern the pod alone, and others that
// the node's operator allows.

import type { Pod } from './types.ts';

/** The safe parameters, with the kernel from which on they are namespaced. */
const SAFE: readonly (readonly [string, string])[] = [
  ['kernel.shm_rmid_forced', '0'],
  ['net.ipv4.ip_local_port_range', '0'],
  ['net.ipv4.tcp_syncookies', '0'],
  ['net.ipv4.ping_group_range', '0'],
  ['net.ipv4.ip_unprivileged_port_start', '0'],
  ['net.ipv4.ip_local_reserved_ports', '3.16'],
  ['net.ipv4.tcp_keepalive_time', '4.5'],
  ['net.ipv4.tcp_fin_timeout', '4.6'],
  ['net.ipv4.tcp_keepalive_intvl', '4.5'],
  ['net.ipv4.tcp_keepalive_probes', '4.5'],
  ['net.ipv4.tcp_rmem', '4.15'],
  ['net.ipv4.tcp_wmem', '4.15'],
];

type Namespace = 'IPC' | 'Net';

const IPC_PARAMETERS: ReadonlySet<string> = new Set([
  'kernel.sem',
  'kernel.shmall',
  'kernel.shmmax',
  'kernel.shmmni',
  'kernel.shm_rmid_forced',
  'kernel.shm',
  'kernel.msgmax',
  'kernel.msgmnb',
  'kernel.msgmni',
  'kernel.msg',
]);

const PATTERN = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]$/;
const MAX_LENGTH = 253;

export class SysctlPatternError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SysctlPatternError';
  }
}

export class SysctlAllowlist {
  readonly #names = new Map<string, Namespace>();
  readonly #prefixes = new Map<string, Namespace>();

  /**
   * Creates a list of the safe parameters of this kernel and of `patterns`, which may end in '*'.
   * Throws SysctlPatternError for a parameter that is not of a single namespace.
   */
  constructor(kernelVersion: string, patterns: readonly string[]) {
    const safe = SAFE.filter(([, since]) => isAtLeast(kernelVersion, since)).map(([name]) => name);
    for (const pattern of [...safe, ...patterns]) this.#allow(pattern);
  }

  /** Returns the rejection of a pod; undefined if it may set what it wants to. */
  admit({ spec }: Pod): { readonly reason: string; readonly message: string } | undefined {
    for (const { name } of spec.securityContext?.sysctls ?? []) {
      const problem = this.#problemOf(
        normalizeSysctl(name),
        spec.hostNetwork === true,
        spec.hostIPC === true,
      );
      if (problem !== undefined)
        return { reason: 'SysctlForbidden', message: `forbidden sysctl: ${problem}` };
    }
    return undefined;
  }

  #allow(pattern: string): void {
    if (pattern.length > MAX_LENGTH || !PATTERN.test(pattern))
      throw new SysctlPatternError(
        `sysctl ${JSON.stringify(pattern)} must have at most ${MAX_LENGTH} characters and match ` +
          `regex ${PATTERN.source}`,
      );
    const [name = '', ...rest] = normalizeSysctl(pattern).split('*');
    const namespace = namespaceOf(name);
    if (namespace === undefined)
      throw new SysctlPatternError(
        `the sysctls ${JSON.stringify(name)} are not known to be namespaced`,
      );
    (rest.length > 0 ? this.#prefixes : this.#names).set(name, namespace);
  }

  #problemOf(name: string, hostNetwork: boolean, hostIPC: boolean): string | undefined {
    const namespace =
      this.#names.get(name) ?? [...this.#prefixes].find(([prefix]) => name.startsWith(prefix))?.[1];
    const quoted = JSON.stringify(name);
    if (namespace === undefined) return `${quoted} not allowlisted`;
    return (namespace === 'IPC' ? hostIPC : hostNetwork)
      ? `${quoted} not allowed with host ${namespace} enabled`
      : undefined;
  }
}

/** Returns the name with dots, whichever separator comes first in it. */
export function normalizeSysctl(name: string): string {
  const separator = /[./]/.exec(name)?.[0];
  if (separator !== '/') return name;
  return name.replace(/[./]/g, (character) => (character === '/' ? '.' : '/'));
}

function namespaceOf(name: string): Namespace | undefined {
  if (IPC_PARAMETERS.has(name) || name.startsWith('fs.mqueue.')) return 'IPC';
  return name.startsWith('net.') ? 'Net' : undefined;
}

function isAtLeast(kernelVersion: string, since: string): boolean {
  const numbers = (text: string): readonly [number, number] => {
    const [, major = '0', minor = '0'] = /^(\d+)(?:\.(\d+))?/.exec(text) ?? [];
    return [Number(major), Number(minor)];
  };
  const [actual, wanted] = [numbers(kernelVersion), numbers(since)];
  return actual[0] !== wanted[0] ? actual[0] > wanted[0] : actual[1] >= wanted[1];
}
