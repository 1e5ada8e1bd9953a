import { expect, test } from 'vitest';
import { handlerTables, machineHandlers } from './runtime-handlers.ts';

const DUMP = `version = 2
  [plugins."io.containerd.grpc.v1.cri"]
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes]

        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
          runtime_type = "io.containerd.runc.v2"

          [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
            BinaryName = "/opt/runc"

        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runsc]
          runtime_type = "io.containerd.runsc.v1"

        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc-debug]
          runtime_type = "io.containerd.runc.v2"

          [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc-debug.options]
            BinaryName = "/opt/runc"
            SystemdCgroup = true

      [plugins."io.containerd.grpc.v1.cri".containerd.untrusted_workload_runtime]
        runtime_type = "io.containerd.untrusted.v1"
`;

const EXPECTED = `
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runsc]
runtime_type = "io.containerd.runsc.v1"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc-debug]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc-debug.options]
BinaryName = "/opt/runc"
SystemdCgroup = false
`;

test('handlers other than runc are taken over, with the cgroup driver of the private containerd', () => {
  expect(handlerTables(DUMP, false)).toBe(EXPECTED);
  expect(handlerTables(DUMP, true)).toContain('SystemdCgroup = true\n');
});

test('the names that containerd 2 prints are those of format version 2', () => {
  const newer = DUMP.replaceAll('"io.containerd.grpc.v1.cri"', "'io.containerd.cri.v1.runtime'");
  expect(handlerTables(newer, false)).toBe(EXPECTED);
});

test('a machine without a configuration has no handlers', async () => {
  expect(await machineHandlers('/bin/false', false, '/does/not/exist')).toBe('');
});

test('a configuration that cannot be read is an error', async () => {
  await expect(machineHandlers('/bin/false', false, '/etc/passwd')).rejects.toThrow(
    'Command failed',
  );
});
