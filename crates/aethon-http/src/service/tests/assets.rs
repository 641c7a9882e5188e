//! The files of the pages.

use super::{TestApp, with_token};

#[tokio::test]
async fn assets_are_compressed_revalidated_and_kept() {
    let app = TestApp::new(with_token());
    let plain = app.get("/dashboard/static/css/page-chat.css", &[]).await;
    assert_eq!((plain.status, plain.header("cache-control")), (200, "no-cache"));
    assert!(plain.header("content-type").starts_with("text/css"));
    let etag = plain.header("etag");
    let again = app.get("/dashboard/static/css/page-chat.css", &[("if-none-match", etag)]).await;
    assert_eq!((again.status, again.body.as_str(), again.header("etag")), (304, "", etag));
    let packed = app.get("/dashboard/static/css/page-chat.css", &[("accept-encoding", "gzip, br")]).await;
    assert_eq!(packed.header("content-encoding"), "gzip");
    assert_eq!(packed.header("vary"), "accept-encoding");
    let kept = format!("/dashboard/static/{}/css/page-chat.css", aethon_web::tree_hash());
    assert!(app.get(&kept, &[]).await.header("cache-control").contains("immutable"));
    assert_eq!(app.get("/dashboard/static/nothing.js", &[]).await.code(), "not_found");
    assert_eq!(app.get("/dashboard/static/../../../etc/passwd", &[]).await.status, 401);
}
