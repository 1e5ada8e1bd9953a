import { expect, test } from 'vitest';

import { countSamples, exponentialBuckets, Instruments } from './instruments.ts';

test('the text is sorted by name and leaves out families without values', () => {
  const instruments = new Instruments();
  const errors = instruments.counter({ name: 'b_errors_total', help: 'Errors.', labels: ['code'] });
  const durations = instruments.histogram(
    { name: 'a_seconds', help: 'Time.' },
    exponentialBuckets(1, 2, 2),
  );
  instruments.gauge({ name: 'c_objects', help: 'Objects.', labels: ['kind', 'state'] }, () =>
    countSamples([
      ['a', 'x"y'],
      ['b', ''],
      ['a', 'x"y'],
    ]),
  );
  instruments.gauge({ name: 'd_nothing', help: 'None.' }, () => []);
  expect(instruments.text()).toContain(
    'c_objects{kind="a",state="x\\"y"} 2\nc_objects{kind="b",state=""} 1\n',
  );
  expect(instruments.text()).not.toContain('b_errors_total');
  errors.with('500').value++;
  durations.with().observe(1.5);
  expect(instruments.text()).toBe(
    [
      '# HELP a_seconds Time.',
      '# TYPE a_seconds histogram',
      'a_seconds_bucket{le="1"} 0',
      'a_seconds_bucket{le="2"} 1',
      'a_seconds_bucket{le="+Inf"} 1',
      'a_seconds_sum 1.5',
      'a_seconds_count 1',
      '# HELP b_errors_total Errors.',
      '# TYPE b_errors_total counter',
      'b_errors_total{code="500"} 1',
      '# HELP c_objects Objects.',
      '# TYPE c_objects gauge',
      'c_objects{kind="a",state="x\\"y"} 2',
      'c_objects{kind="b",state=""} 1',
      '',
    ].join('\n'),
  );
});

test('a second registration continues the counters and replaces the gauge', () => {
  const instruments = new Instruments();
  const description = { name: 'n_total', help: 'N.' };
  instruments.counter(description).with().value++;
  instruments.counter(description).with().value++;
  instruments.gauge({ name: 'g', help: 'G.' }, () => [[[], 1]]);
  instruments.gauge({ name: 'g', help: 'G.' }, () => [[[], 2]]);
  expect(instruments.text()).toContain('n_total 2\n');
  expect(instruments.text()).toContain('g 2\n');
  expect(instruments.text()).not.toContain('g 1\n');
});
