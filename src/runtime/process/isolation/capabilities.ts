// The capabilities of a container: which options of setpriv(1) give it those, and no others.

import { type ContainerConfig, CriError } from '#cri/index.ts';

/** The capabilities of containers that ask for none: the set of containerd and Docker. */
const DEFAULTS: readonly string[] = [
  'chown',
  'dac_override',
  'fsetid',
  'fowner',
  'mknod',
  'net_raw',
  'setgid',
  'setuid',
  'setfcap',
  'setpcap',
  'net_bind_service',
  'sys_chroot',
  'kill',
  'audit_write',
];

/** Every capability of Linux 6. */
const ALL: readonly string[] = [
  ...DEFAULTS,
  'dac_read_search',
  'linux_immutable',
  'net_broadcast',
  'net_admin',
  'ipc_lock',
  'ipc_owner',
  'sys_module',
  'sys_rawio',
  'sys_ptrace',
  'sys_pacct',
  'sys_admin',
  'sys_boot',
  'sys_nice',
  'sys_resource',
  'sys_time',
  'sys_tty_config',
  'lease',
  'audit_control',
  'mac_override',
  'mac_admin',
  'syslog',
  'wake_alarm',
  'block_suspend',
  'audit_read',
  'perfmon',
  'bpf',
  'checkpoint_restore',
];

type Context = NonNullable<NonNullable<ContainerConfig['linux']>['securityContext']>;

/** Returns the capabilities that a container may have. Throws InvalidArgument for unknown names. */
export function containerCapabilities(context: Context | undefined): readonly string[] {
  if (context?.privileged === true) return ALL;
  const add = (context?.capabilities?.addCapabilities ?? []).map(canonical);
  const drop = (context?.capabilities?.dropCapabilities ?? []).map(canonical);
  const base = new Set(add.includes('all') ? ALL : DEFAULTS);
  if (drop.includes('all')) base.clear();
  for (const name of add) if (name !== 'all') base.add(name);
  for (const name of drop) base.delete(name);
  // All but some: what was named explicitly in both lists is dropped, as by other runtimes.
  return ALL.filter((name) => base.has(name));
}

function canonical(name: string): string {
  const short = name.toLowerCase().replace(/^cap_/, '');
  if (short !== 'all' && !ALL.includes(short))
    throw new CriError(
      'InvalidArgument',
      `unknown capability to add or drop: ${JSON.stringify(name)}`,
    );
  return short;
}

/** Returns the options of setpriv(1). */
export function capabilityOptions(context: Context | undefined): readonly string[] {
  const allowed = containerCapabilities(context);
  const ambient = (context?.capabilities?.addAmbientCapabilities ?? []).map(canonical);
  const options: string[] = [];
  if (allowed.length < ALL.length)
    options.push(`--bounding-set=${['-all', ...allowed.map((name) => `+${name}`)].join(',')}`);
  const inherited = ambient.filter((name) => allowed.includes(name)).map((name) => `+${name}`);
  options.push(`--inh-caps=${['-all', ...inherited].join(',')}`);
  if (inherited.length > 0) options.push(`--ambient-caps=${['-all', ...inherited].join(',')}`);
  if (context?.noNewPrivs === true) options.push('--no-new-privs');
  return options;
}
