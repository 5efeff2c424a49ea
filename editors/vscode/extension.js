// Starts mind-lsp and connects the editor to it; without the command there are colours only.
const { workspace, window } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function activate() {
  const command = workspace.getConfiguration("mind").get("server", "mind-lsp");
  const documents = ["mlir", "coreir"].map((language) => ({ scheme: "file", language }));
  client = new LanguageClient("mind", "mind-dialect", { command, args: ["--stdio"] }, { documentSelector: documents });
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    window.showWarningMessage(`${command} did not start (pip install 'mind-dialect[lsp]', or set mind.server): ${error.message}`);
  }
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };
