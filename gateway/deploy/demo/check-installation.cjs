/*
 * Loaded with --require before each program, so that an incomplete installation ends with one line and not with a stack:
 * an older Node refuses a .ts file before it runs any of it. The project's own Node is missing after `npm ci` with
 * --ignore-scripts or NODE_ENV=production, and an older Node then runs this file, so it uses nothing that Node 18, the
 * oldest with npm 10, does not know.
 */
var fs = require('node:fs');
var path = require('node:path');

var root = path.join(__dirname, '..', '..', '..');
/* server.shouldUpgradeCallback came with it. */
var oldest = [24, 9];
var program = path.relative(root, process.argv[1]);
/* `npm run dev` runs this file itself first: an older Node refuses its options, too. */
var commands = { 'start-all.ts': 'npm start', 'check-installation.cjs': 'npm run dev' };
var name = commands[path.relative(__dirname, process.argv[1])] || program;

/** @returns what is missing and what to do, or undefined */
function findFault() {
  var version = process.versions.node.split('.').map(Number);
  if (version[0] < oldest[0] || (version[0] === oldest[0] && version[1] < oldest[1])) {
    return (
      'the project needs Node ' +
      oldest.join('.') +
      ' or later, and this is ' +
      process.version +
      ': run npm ci without --ignore-scripts, --omit=dev and NODE_ENV=production, which installs its own Node 26 in node_modules/.bin, or install one'
    );
  }
  if (!fs.existsSync(path.join(root, 'node_modules')))
    return 'the dependencies are not installed: run npm ci';
  var needsClient = name !== program || program.indexOf('pets-service') === 0;
  if (needsClient && !fs.existsSync(path.join(root, 'pets-service', 'generated', 'prisma', 'client.ts'))) {
    return 'the database client is not generated: run npm ci without --ignore-scripts';
  }
  return undefined;
}

var fault = findFault();
if (fault !== undefined) {
  process.stderr.write(name + ': ' + fault + '\n');
  process.exit(1);
}

/*
 * A start from compiled sources takes a quarter less CPU time. Node does without if it may not write there, as under systemd,
 * and if NODE_DISABLE_COMPILE_CACHE is set. The variable is for the processes that this one starts.
 */
process.env.NODE_COMPILE_CACHE =
  process.env.NODE_COMPILE_CACHE || path.join(root, 'node_modules', '.cache', 'animal-store');
require('node:module').enableCompileCache(process.env.NODE_COMPILE_CACHE);
