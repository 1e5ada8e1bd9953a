import { expect, test } from 'vitest';
import { chooseNodes, countsIn, SUPPORTED_MAJORS } from './found-nodes.ts';

const node = (version: string) => ({ program: `/opt/${version}/bin/node`, version });

test('each supported version is run, is running already, or is named as missing', () => {
  const found = [node('v20.19.0'), node('v24.1.0'), node('v25.2.0')];
  expect(chooseNodes(found, 'v20.20.2')).toEqual({
    nodes: [node('v24.1.0'), node('v25.2.0')],
    missing: [22, 26],
  });
  expect(chooseNodes([], 'v22.3.0').missing).toEqual([20, 24, 26]);
  expect(SUPPORTED_MAJORS).toContain(20);
});

test('the counts of a run are those of its last summary', () => {
  const output = '3 passed, 0 failed, 1 skipped\n\n12 passed, 2 failed, 0 skipped\n';
  expect(countsIn(output)).toEqual({ passed: 12, failed: 2, skipped: 0 });
  expect(countsIn('building …\n')).toBeUndefined();
});
