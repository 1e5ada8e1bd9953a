import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readRecyclerFlags } from './recycler-flags.ts';

let dir: string;
beforeAll(() => void (dir = mkdtempSync(join(tmpdir(), 'cox-recycler-'))));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const POD = `apiVersion: v1
kind: Pod
metadata: {generateName: scrub-, namespace: kube-system}
spec:
  restartPolicy: Never
  containers: [{name: scrub, image: scrubber, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, emptyDir: {}}]
`;

function file(text: string): string {
  const path = join(dir, 'pod.yaml');
  writeFileSync(path, text);
  return path;
}

test('without flags the defaults of the controller are used', () => {
  expect(readRecyclerFlags({})).toEqual({ nfs: {}, hostPath: {} });
});

test('each kind of volume has its own pod and times', () => {
  const { nfs, hostPath } = readRecyclerFlags({
    pvRecyclerPodTemplateFilepathNfs: file(POD),
    pvRecyclerMinimumTimeoutNfs: 1,
    pvRecyclerIncrementTimeoutNfs: 2,
    pvRecyclerMinimumTimeoutHostpath: 3,
    pvRecyclerTimeoutIncrementHostpath: 4,
  });
  expect(nfs?.template?.metadata).toEqual({ generateName: 'scrub-', namespace: 'kube-system' });
  expect(nfs?.template?.spec?.volumes).toEqual([{ name: 'data', emptyDir: {} }]);
  expect(nfs).toMatchObject({ minimumTimeoutSeconds: 1, timeoutIncrementSeconds: 2 });
  expect(hostPath).toEqual({ minimumTimeoutSeconds: 3, timeoutIncrementSeconds: 4 });
});

test.each([
  ['kind: [', /--pv-recycler-pod-template-filepath-nfs: /],
  [POD.replace('v1', 'apps/v1'), /a Pod of the version v1 was expected/],
  [POD.replace('restartPolicy', 'restarts'), /unknown fields: spec\.restarts/],
  [POD.replace('Never', '[]'), /pod\.yaml: /],
  [POD.replace(/ {2}volumes.*\n/, ''), /does not contain any volumes/],
  [POD.replace(', namespace: kube-system', ''), /names no namespace/],
])('a template that cannot be used is an error: %#', (text, error) => {
  expect(() => readRecyclerFlags({ pvRecyclerPodTemplateFilepathNfs: file(text) })).toThrow(error);
});

test('so is a file that is not there', () => {
  const flags = { pvRecyclerPodTemplateFilepathHostpath: join(dir, 'none') };
  expect(() => readRecyclerFlags(flags)).toThrow(
    /^--pv-recycler-pod-template-filepath-hostpath: ENOENT/,
  );
});
