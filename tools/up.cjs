// `npm run up`: sets the size of libuv's thread pool as bin/cox.js does, before an ES module starts
// the pool.
'use strict';
process.env.UV_THREADPOOL_SIZE ??= '16';
process.argv.splice(2, 0, 'up');
void import('./bootstrap.js');
