import { expect, test } from 'vitest';
import { skewModule } from './programs.ts';
import { formatTranscript, parseTranscript, shape, splitCommand } from './transcript.ts';

test('a transcript is commands, each with what it prints', () => {
  const text = '# a comment\n$ kubectl get pods\nNAME\n\nweb\n\n$ kubectl delete pod web\n';
  const steps = parseTranscript(text);
  expect(steps).toEqual([
    { command: 'get pods', output: 'NAME\n\nweb' },
    { command: 'delete pod web', output: '' },
  ]);
  expect(parseTranscript(formatTranscript(steps))).toEqual(steps);
  expect(() => parseTranscript('NAME\n')).toThrow('begins with a command, not: NAME');
});

test('a command is split at spaces outside of quotes', () => {
  expect(splitCommand("exec web -- sh -c 'echo a; exit 3'")).toEqual([
    'exec',
    'web',
    '--',
    'sh',
    '-c',
    'echo a; exit 3',
  ]);
});

test('what differs in every run, or in the wording of versions, is removed', () => {
  expect(shape('NAME      AGE\nweb-5d4f8c7b9d-x2v4z   2m3s  \n')).toBe('NAME AGE\nweb-XXXXX AGE');
  expect(shape('pod "web" deleted from skew namespace')).toBe('pod "web" deleted');
  expect(shape('Waiting for deployment "web" rollout to finish …\ndone')).toBe('done');
});

test('the module of another version has the published parts in the place of directories', () => {
  const published = [
    'module k8s.io/kubernetes',
    'tool (\n\texample.org/tool\n)',
    'replace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n)',
  ].join('\n');
  expect(skewModule('v1.34.4', published)).toBe(
    'module coxswain.dev/skew\n\nreplace (\n\tk8s.io/api => k8s.io/api v0.34.4\n)\n' +
      'require k8s.io/kubernetes v1.34.4\n',
  );
});
