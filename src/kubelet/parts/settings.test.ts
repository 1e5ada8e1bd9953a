import { expect, test } from 'vitest';
import { reportedVersion } from './settings.ts';

test.each([
  ['1.7.0', '1.7.0'],
  ['v2.1.0-rc.1', '2.1.0-rc.1'],
  ['1.6.20~ds1', '1.6.20'],
  ['git', 'git'],
])('the version %s of a runtime is reported as %s', (version, reported) => {
  expect(reportedVersion(version)).toBe(reported);
});
