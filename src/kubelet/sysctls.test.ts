import { describe, expect, test } from 'vitest';
import { SysctlAllowlist, SysctlPatternError } from './sysctls.ts';
import { makePod } from './testing/make-pod.ts';
import type { Pod } from './types.ts';

const setting = (name: string, spec: Partial<Pod['spec']> = {}): Pod => {
  const pod = makePod();
  const securityContext = { sysctls: [{ name, value: '1' }] };
  return { ...pod, spec: { ...pod.spec, ...spec, securityContext } };
};

describe('the safe parameters', () => {
  const list = new SysctlAllowlist('5.10.0-8-amd64', []);

  test.each(['kernel.shm_rmid_forced', 'net/ipv4/tcp_syncookies', 'net.ipv4.tcp_rmem'])(
    '%s is allowed',
    (name) => expect(list.admit(setting(name))).toBeUndefined(),
  );

  test('others are not', () => {
    expect(list.admit(setting('kernel.msgmax'))).toEqual({
      reason: 'SysctlForbidden',
      message: 'forbidden sysctl: "kernel.msgmax" not allowlisted',
    });
  });

  test('a pod in a namespace of the host cannot set them', () => {
    expect(list.admit(setting('net.ipv4.tcp_syncookies', { hostNetwork: true }))?.message).toBe(
      'forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host Net enabled',
    );
    expect(list.admit(setting('kernel.shm_rmid_forced', { hostIPC: true }))?.message).toBe(
      'forbidden sysctl: "kernel.shm_rmid_forced" not allowed with host IPC enabled',
    );
  });

  test('a kernel in which a parameter is not namespaced does not have it', () => {
    const old = new SysctlAllowlist('4.9.1', []);
    expect(old.admit(setting('net.ipv4.tcp_rmem'))).toBeDefined();
    expect(old.admit(setting('net.ipv4.tcp_keepalive_time'))).toBeUndefined();
  });
});

test('patterns allow prefixes', () => {
  const list = new SysctlAllowlist('6.1', ['kernel.msg*', 'net.core.somaxconn']);
  expect(list.admit(setting('kernel.msgmnb'))).toBeUndefined();
  expect(list.admit(setting('net.core.somaxconn'))).toBeUndefined();
  expect(list.admit(setting('net.core.rmem_max'))).toBeDefined();
});

test.each([
  ['vm.swappiness', 'the sysctls "vm.swappiness" are not known to be namespaced'],
  ['a b', 'sysctl "a b" must have at most 253 characters'],
  ['*.x', 'sysctl "*.x" must'],
])('%s is no pattern', (pattern, message) => {
  expect(() => new SysctlAllowlist('6.1', [pattern])).toThrow(SysctlPatternError);
  expect(() => new SysctlAllowlist('6.1', [pattern])).toThrow(message);
});
