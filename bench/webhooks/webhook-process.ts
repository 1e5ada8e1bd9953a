// A webhook that allows everything, as fast as Node does it, in a process of its own on loopback.

import type { AddressInfo } from 'node:net';
import { createServer } from 'node:https';

import { makeTestAuthority } from '#apiserver/testing/certificates.ts';

interface Review {
  readonly request: { readonly uid: string };
}

const authority = await makeTestAuthority();
const { cert, key } = await authority.server();
const server = createServer({ cert, key, keepAliveTimeout: 60_000 }, (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { uid } = (JSON.parse(Buffer.concat(chunks).toString('utf8')) as Review).request;
    const body = JSON.stringify({
      kind: 'AdmissionReview',
      apiVersion: 'admission.k8s.io/v1',
      response: { uid, allowed: true },
    });
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    });
    response.end(body);
  });
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.send?.({
    url: `https://127.0.0.1:${port}/`,
    caBundle: Buffer.from(authority.cert).toString('base64'),
  });
});
process.on('disconnect', () => process.exit(0));
