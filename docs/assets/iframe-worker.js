// Browsers start no worker for a page that was opened from the disk. There, the search runs in a hidden frame.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inside = this.frame.contentWindow
      const load = (source) =>
        new Promise((resolve, reject) => {
          const script = inside.document.createElement("script")
          script.src = source
          script.onload = resolve
          script.onerror = reject
          inside.document.body.append(script)
        })
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", {data}))
      inside.importScripts = (...sources) =>
        sources.reduce((before, source) => before.then(() => load(source)), Promise.resolve())
      this.loaded = load(address)
    }

    postMessage(data) {
      this.loaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", {data})))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
