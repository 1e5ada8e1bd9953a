import { expect, test } from 'vitest';
import { flagValues } from './flag-values.ts';

test('flags as they are written on a command line', () => {
  const options = {
    securePort: 10_259,
    leaderElect: true,
    leaderElectLeaseDuration: 15_000,
    controllers: ['*', '-job'],
    runtimeConfig: { 'api/all': 'true', 'batch/v1': 'false' },
    config: undefined,
  };
  expect(flagValues(options)).toEqual({
    'secure-port': '10259',
    'leader-elect': 'true',
    'leader-elect-lease-duration': '15s',
    controllers: '*,-job',
    'runtime-config': 'api/all=true,batch/v1=false',
  });
});
