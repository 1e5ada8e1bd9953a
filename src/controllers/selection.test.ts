import { describe, expect, test } from 'vitest';

import { CONTROLLER_NAMES } from './controllers.ts';
import { controllersHelp, selectControllers, UnknownControllerError } from './selection.ts';

describe('--controllers', () => {
  test('* selects every controller that is on by default', () => {
    const all = selectControllers(['*']);
    expect(all).toContain('deployment-controller');
    expect(all).not.toContain('token-cleaner-controller');
    expect(selectControllers(['*', 'token-cleaner-controller'])).toContain(
      'token-cleaner-controller',
    );
  });

  test('a name selects that controller only', () => {
    expect(selectControllers(['job-controller'])).toEqual(['job-controller']);
    expect(selectControllers([])).toEqual([]);
  });

  test('- disables a controller, and the first mention counts', () => {
    expect(selectControllers(['*', '-job-controller'])).toEqual(
      selectControllers(['*']).filter((name) => name !== 'job-controller'),
    );
    expect(selectControllers(['-job-controller', 'job-controller'])).toEqual([]);
    expect(selectControllers(['job-controller', '-job-controller'])).toEqual(['job-controller']);
  });

  test('former names are accepted', () => {
    expect(selectControllers(['endpoint', 'podgc'])).toEqual(
      selectControllers(['endpoints-controller', 'pod-garbage-collector-controller']),
    );
    expect(selectControllers(['*', '-nodelifecycle'])).not.toContain('node-lifecycle-controller');
  });

  test('an unknown controller can be disabled, but not selected', () => {
    const ask = () => selectControllers(['*', 'nonsense', 'toString']);
    expect(ask).toThrow(UnknownControllerError);
    expect(ask).toThrow(
      '"nonsense" is not in the list of known controllers, "toString" is not in the list of known controllers',
    );
    expect(selectControllers(['job-controller', '-nonsense'])).toEqual(['job-controller']);
  });

  test('the help lists every controller', () => {
    for (const name of CONTROLLER_NAMES) expect(controllersHelp()).toContain(name);
  });
});
