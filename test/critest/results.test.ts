import { expect, test } from 'vitest';
import { judge, parseReasons, parseReport } from './results.ts';

const report = `<?xml version="1.0"?>
<testsuites><testsuite name="CRI validation">
<testcase name="[BeforeSuite]" classname="x" status="passed" time="0.1"></testcase>
<testcase name="[It] [k8s.io] Container runs &lt;it&gt;" classname="x" status="passed" time="1.5">
  <system-err>status=failed</system-err>
</testcase>
<testcase name="[It] [k8s.io] AppArmor should block" classname="x" status="skipped" time="0">
  <skipped message="skipped - AppArmor is disabled"></skipped>
</testcase>
<testcase name="[It] [k8s.io] Image by digest" classname="x" status="failed" time="2">
  <failure message="not &#34;found&#34;" type="failed">[FAILED] x</failure>
</testcase>
<testcase name="[It] [k8s.io] Other" classname="x" status="panicked" time="2">
  <error message="boom" type="panicked"></error>
</testcase>
</testsuite></testsuites>`;

test('specs are read with their states and messages', () => {
  expect(parseReport(report)).toEqual([
    {
      name: 'AppArmor should block',
      state: 'skipped',
      message: 'AppArmor is disabled',
      seconds: 0,
    },
    { name: 'Container runs <it>', state: 'passed', message: '', seconds: 1.5 },
    { name: 'Image by digest', state: 'failed', message: 'not "found"', seconds: 2 },
    { name: 'Other', state: 'failed', message: 'boom', seconds: 2 },
  ]);
});

test('what the table of reasons does not explain, and what it explains in vain', () => {
  const reasons = parseReasons(
    '# comment\nAppArmor\tnot in this kernel\nContainer\tno longer true\n',
  );
  const { passed, failed, skipped, unexpected, outdated } = judge(parseReport(report), reasons);
  expect([passed, failed.length, skipped.length]).toEqual([1, 2, 1]);
  expect(unexpected.map(({ name }) => name)).toEqual(['Image by digest', 'Other']);
  expect(outdated).toEqual(['Container']);
});
