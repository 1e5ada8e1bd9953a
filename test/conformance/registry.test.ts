import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { imageArchive } from '#runtime/containerd/image-archive.ts';
import { temporaryDir } from '../e2e/harness.ts';
import { mirrorToml, readContent, serveRegistry } from './registry.ts';

test('the registry serves the images of an archive, by tag and by digest', async () => {
  const dir = temporaryDir();
  const archive = join(dir.path, 'images.tar');
  const files = [{ path: 'greeting', content: Buffer.from('hello') }];
  const names = ['registry.k8s.io/tests/one:1.0', 'registry.k8s.io/two:latest'];
  writeFileSync(archive, imageArchive({ names, files, cmd: ['sh'] }));
  const registry = await serveRegistry(
    await readContent([archive]),
    'registry.k8s.io',
    '127.0.0.1',
  );
  try {
    const get = (path: string, method = 'GET'): Promise<Response> =>
      fetch(`${registry.url}/v2/${path}`, { method });
    expect((await get('')).status).toBe(200);
    const byTag = await get('tests/one/manifests/1.0?ns=registry.k8s.io');
    expect(byTag.status).toBe(200);
    expect(byTag.headers.get('content-type')).toMatch(/manifest/);
    const manifest = (await byTag.json()) as { config: { digest: string; size: number } };
    const digest = byTag.headers.get('docker-content-digest') ?? '';
    expect(await (await get(`two/manifests/${digest}`)).json()).toEqual(manifest);
    const config = await get(`tests/one/blobs/${manifest.config.digest}`);
    expect(await config.json()).toMatchObject({ config: { Cmd: ['sh'] } });
    const head = await get(`tests/one/blobs/${manifest.config.digest}`, 'HEAD');
    expect([head.status, head.headers.get('content-length')]).toEqual([
      200,
      String(manifest.config.size),
    ]);
    const missing = [
      'tests/one/manifests/2.0',
      'three/manifests/latest',
      `three/blobs/${manifest.config.digest}`,
      `tests/one/blobs/sha256:${'0'.repeat(64)}`,
      'tests/one/tags/list',
    ];
    for (const path of missing) expect([path, (await get(path)).status]).toEqual([path, 404]);
    expect((await get('tests/one/manifests/1.0', 'PUT')).status).toBe(405);
    expect(mirrorToml('registry.k8s.io', registry)).toContain(`[host."${registry.url}"]`);
  } finally {
    await registry.close();
    dir.remove();
  }
});
