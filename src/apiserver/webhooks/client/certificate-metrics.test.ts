import { expect, test } from 'vitest';
import { checkCertificateNames } from './certificate-names.ts';
import { CertificateMetrics } from './certificate-metrics.ts';

test('names and help exist before the first failure, and other errors do not count', () => {
  const metrics = new CertificateMetrics('apiserver_webhooks');
  for (const error of [
    undefined,
    'text',
    new Error('read ECONNRESET'),
    new Error('x509: certificate is valid for a, not b'),
  ]) {
    metrics.failed(error);
  }
  const lines = metrics.text().split('\n');
  expect(lines.filter((line) => line !== '' && !line.startsWith('# HELP'))).toEqual([
    '# TYPE apiserver_webhooks_x509_insecure_sha1_total counter',
    'apiserver_webhooks_x509_insecure_sha1_total 0',
    '# TYPE apiserver_webhooks_x509_missing_san_total counter',
    'apiserver_webhooks_x509_missing_san_total 0',
  ]);
});

test('certificates without alternative names and those signed with SHA-1 are counted', () => {
  const metrics = new CertificateMetrics('apiserver_kube_aggregator');
  metrics.failed(
    checkCertificateNames('a.example.com', { subject: { CN: 'a.example.com' } } as never),
  );
  metrics.failed(new Error('CA signature digest algorithm too weak'));
  metrics.failed(new Error('CA signature digest algorithm too weak'));
  expect(metrics.text()).toContain('\napiserver_kube_aggregator_x509_missing_san_total 1\n');
  expect(metrics.text()).toContain('\napiserver_kube_aggregator_x509_insecure_sha1_total 2\n');
});
