import { describe, expect, test } from 'vitest';
import type { SettingFiles } from '#machinery/files/setting-files.ts';
import { recordingLogger } from '#machinery/log.ts';
import { applyConntrackSettings, conntrackValues } from './conntrack-settings.ts';

describe('conntrackValues', () => {
  test('by default, the limit is at least 131072, and idle TCP connections are kept longer', () => {
    expect(Object.fromEntries(conntrackValues({}, 2))).toEqual({
      nf_conntrack_max: 131_072,
      nf_conntrack_tcp_timeout_established: 86_400,
      nf_conntrack_tcp_timeout_close_wait: 3600,
    });
  });

  test.each([
    [8, 262_144],
    [64, 1_048_576],
  ])('the limit grows with %d cores to %d', (cores, max) => {
    expect(conntrackValues({}, cores).get('nf_conntrack_max')).toBe(max);
  });

  test('0 leaves a setting alone', () => {
    const none = { maxPerCore: 0, tcpTimeoutEstablished: 0, tcpTimeoutCloseWait: 0 };
    expect(conntrackValues(none, 4).size).toBe(0);
  });
});

test('only settings that differ are written, and a failure is logged', async () => {
  const content = new Map([
    ['/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_established', '86400'],
    ['/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_close_wait', '60'],
    ['/sys/module/nf_conntrack/parameters/hashsize', '65536'],
  ]);
  const written: string[] = [];
  const files: SettingFiles = {
    read: async (path) => {
      const value = content.get(path);
      if (value === undefined) throw new Error(`no ${path}`);
      return value;
    },
    write: async (path, value) => void written.push(`${path} ${value}`),
  };
  const logger = recordingLogger();
  await applyConntrackSettings({}, 2, files, logger);
  expect(written).toEqual(['/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_close_wait 3600']);
  expect(logger.records.map(({ values }) => values['setting'])).toEqual(['nf_conntrack_max']);
});
