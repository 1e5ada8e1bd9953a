import { expect, test } from 'vitest';
import { makeAuthority } from '#controllers/certificates/testing/authority.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { recordingLogger } from '#machinery/log.ts';
import { CertificateMetrics } from './certificate-metrics.ts';
import { requireCertificate, RotatedCredentials } from './client-certificate.ts';
import { certificateOf } from './issued-pair.ts';

const START = Date.UTC(2026, 0, 1);

test('a kubelet without a certificate ends after five minutes, if the server responds', async () => {
  const clock = new VirtualClock({ start: START });
  const { cert, key } = await makeAuthority(START);
  const manager = { current: certificateOf(cert, key), serverHealthy: false };
  const state: { current: typeof manager.current | undefined; serverHealthy: boolean } = manager;
  const logger = recordingLogger();
  let failure: unknown;
  const stop = new AbortController();
  const watching = requireCertificate(state, { clock, logger }, stop.signal).catch(
    (error: unknown) => (failure = error),
  );
  await clock.advance('1h');
  state.current = undefined;
  await clock.advance('4m50s');
  expect(logger.records).toEqual([]);
  await clock.advance('1m');
  expect(failure).toBeUndefined();
  expect(logger.records[0]?.message).toContain('the server is not responsive');
  state.serverHealthy = true;
  await clock.advance('10s');
  expect(String(failure)).toContain(
    'no valid client certificate is found and the server is responsive',
  );
  stop.abort();
  await watching;
});

test('credentials are those of the present certificate, and none without one', async () => {
  const { cert, key } = await makeAuthority(START);
  const manager: { current: ReturnType<typeof certificateOf> | undefined } = { current: undefined };
  const credentials = new RotatedCredentials(manager);
  expect(await credentials.current()).toEqual({});
  manager.current = certificateOf(cert, key);
  const { clientCertificate, clientKey } = await credentials.current();
  expect([clientCertificate, clientKey]).toEqual([manager.current.cert, manager.current.key]);
});

test('metrics have the names of upstream', async () => {
  const clock = new VirtualClock({ start: START });
  const { cert, key } = await makeAuthority(START);
  const client = new CertificateMetrics('client');
  expect(client.text(undefined, clock)).toContain(
    '\nkubelet_certificate_manager_client_ttl_seconds +Inf\n',
  );
  client.renewalFailed();
  const text = client.text(certificateOf(cert, key), clock);
  expect(text).toContain('\nkubelet_certificate_manager_client_ttl_seconds 315360000\n');
  expect(text).toContain('\nkubelet_certificate_manager_client_expiration_renew_errors 1\n');
  const server = new CertificateMetrics('server');
  server.rotated(7200);
  const lines = server.text(undefined, clock);
  for (const line of [
    'kubelet_server_expiration_renew_errors 0',
    'kubelet_certificate_manager_server_ttl_seconds +Inf',
    'kubelet_certificate_manager_server_rotation_seconds_bucket{le="3600"} 0',
    'kubelet_certificate_manager_server_rotation_seconds_bucket{le="14400"} 1',
    'kubelet_certificate_manager_server_rotation_seconds_bucket{le="1.24416e+08"} 1',
  ])
    expect(lines).toContain(`\n${line}\n`);
});
