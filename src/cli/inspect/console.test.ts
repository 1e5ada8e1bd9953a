import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findOpener, redirectPage } from './console.ts';

test('pages are opened where there is a desktop and a program for it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'opener-'));
  try {
    const file = join(folder, 'xdg-open');
    writeFileSync(file, '');
    const PATH = `relative:${folder}`;
    expect(findOpener({ PATH, DISPLAY: ':0' }, 'linux')).toBeUndefined();
    chmodSync(file, 0o755);
    expect(findOpener({ PATH, DISPLAY: ':0' }, 'linux')).toBe(file);
    expect(findOpener({ PATH, WAYLAND_DISPLAY: 'wayland-0' }, 'linux')).toBe(file);
    expect(findOpener({ PATH }, 'linux')).toBeUndefined();
    expect(findOpener({ PATH }, 'darwin')).toBeUndefined();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('an address cannot leave its attribute', () => {
  const page = redirectPage('https://x/"><script>a&b</script>');
  expect(page).not.toContain('<script>');
  expect(page).toContain('url=https://x/&quot;&gt;&lt;script&gt;a&amp;b&lt;/script&gt;"');
});
